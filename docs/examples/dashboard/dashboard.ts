import { Pgque } from "@pgque/client";
import { basicAuth, basicUser, createDashboard } from "@pgque/dashboard";

// roles with pgque_viewer, and with pgque_admin and pgque_reader
const viewers = new Pgque(process.env["DATABASE_URL"]);
const operators = new Pgque(process.env["OPERATOR_DATABASE_URL"]);

export const dashboard = createDashboard(viewers, {
  basePath: "/admin/queues",
  authorize: basicAuth(process.env["PGQUE_DASHBOARD_PASSWORD_HASH"]),
  operator: {
    pgque: operators,
    who: (request) => (basicUser(request) === "viewer" ? undefined : basicUser(request)), // undefined: may look only
    audit: (entry) => console.error(JSON.stringify(entry)), // { at, who, action, fields, outcome, text }
    tokenSecret: process.env["DASHBOARD_TOKEN_SECRET"], // the same in all processes behind one address
  },
});
