/** Version of the schema that this package installs. */
export const schemaVersion = "0.1.0";

/** Schema that is installed into when none is named. */
export const defaultSchema = "pgque";
