export { defaultSchema, isOlder, schemaVersion, serves } from "./version.ts";
export { script } from "./script.ts";
export {
  install,
  installedFingerprint,
  installedVersion,
  type Installed,
  type InstallOptions,
  type SchemaOptions,
} from "./install.ts";
export { plan, type Plan } from "./plan.ts";
export { validate, type Difference } from "./validate/validate.ts";
export { uninstall } from "./uninstall.ts";
export { fingerprint as schemaFingerprint } from "./release.gen.ts";
export { packagedRelease, type Migration, type Release } from "./release.ts";
export type { Statement } from "./statements.ts";
export { quoteIdentifier, type SqlClient } from "./client.ts";
