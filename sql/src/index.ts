export { defaultSchema, schemaVersion } from "./version.ts";
export { script } from "./script.ts";
export { install, installedVersion, uninstall, type Installed, type SchemaOptions } from "./install.ts";
export { quoteIdentifier, type SqlClient } from "./client.ts";
