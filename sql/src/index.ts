export { defaultSchema, isOlder, schemaVersion, serves } from "./version.ts";
export { script } from "./script.ts";
export {
  install,
  installedVersion,
  uninstall,
  type Installed,
  type InstallOptions,
  type SchemaOptions,
} from "./install.ts";
export { plan, type Plan } from "./plan.ts";
export { validate, type Difference } from "./validate/validate.ts";
export { migrations, type Migration } from "./migrations.ts";
export { quoteIdentifier, type SqlClient } from "./client.ts";
