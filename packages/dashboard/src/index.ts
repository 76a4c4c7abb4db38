export { createDashboard, type Authorize, type Dashboard, type DashboardOptions } from "./dashboard.ts";
export type { AuditEntry, OperatorOptions } from "./actions/operator.ts";
export { basicAuth, basicUser, hashPassword } from "./serve/password.ts";
export { nodeListener, serveDashboard, type ServeOptions, type Served } from "./serve/serve.ts";
export type { Advice, Verdict } from "./reading/verdict.ts";
export type { Overview, Part } from "./reading/overview.ts";
export type { Horizon } from "./reading/horizon.ts";
export type { QueueDetails } from "./reading/queue-details.ts";
