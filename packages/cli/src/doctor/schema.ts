import { installedFingerprint, installedVersion, isOlder, schemaFingerprint, schemaVersion, serves } from "@pgque/sql";
import { ok, type Check, type Examination, type Finding } from "./finding.ts";

/** The schema is there, and of a version that this command line can work with. */
export const schemaCheck: Check = {
  name: "schema",
  needsSchema: false,
  async run({ client, schema }) {
    try {
      const version = await installedVersion(client, { schema });
      if (version !== schemaVersion) return [versionFinding(schema, version)];
      return [buildFinding(schema, await installedFingerprint(client, { schema }))];
    } catch (error) {
      if ((error as { code?: string }).code !== "42501") throw error;
      return [
        {
          severity: "problem",
          found: `schema ${JSON.stringify(schema)} may not be used by this role`,
          why: "nothing can be said of the queues in it",
          fix: [await grantViewer(client, schema)],
        },
      ];
    }
  },
};

/** What the version of a schema means to this package; null: it is not there. */
export function versionFinding(schema: string, version: string | null): Finding {
  const install = `-- pgque install --schema ${JSON.stringify(schema)}`;
  if (version === null) {
    return {
      severity: "problem",
      found: `Pgque is not installed in schema ${JSON.stringify(schema)} of this database`,
      why: "there is no queue to send to or receive from",
      fix: [install, "-- if it is in another schema: pgque doctor --schema <name>"],
    };
  }
  if (serves(version, schemaVersion)) return ok(`version ${version}, this command line needs ${schemaVersion}`);
  const older = isOlder(version, schemaVersion);
  return {
    severity: "problem",
    found: `the schema is of version ${version}, this command line is for ${schemaVersion}`,
    why: older ? "clients of this version refuse an older schema" : "this command line may not know what it looks at",
    fix: [older ? install : `-- use the pgque package of version ${version}`],
  };
}

/** What the build of a schema of this version means to this package; null: it does not say. */
function buildFinding(schema: string, build: string | null): Finding {
  if (build === schemaFingerprint) return versionFinding(schema, schemaVersion);
  return {
    severity: "warning",
    found: `schema ${JSON.stringify(schema)} is another build of version ${schemaVersion}: ${build ?? "without a fingerprint"}, not ${schemaFingerprint}`,
    why: "a function or a table may not be as this command line knows it",
    fix: [`-- pgque validate --schema ${JSON.stringify(schema)}   says what differs`],
  };
}

/** This role may look, and the messages are this cluster's. */
export const rightsCheck: Check = {
  name: "rights",
  needsSchema: false,
  async run({ client, schema, quoted }) {
    const { rows } = await client.query<{ role: string; looks: boolean; sees: boolean }>(
      `select quote_ident(current_user) as role,
              has_function_privilege(format('%s.consumer_status(text)', $1::text), 'execute') as looks,
              pg_has_role('pg_read_all_stats', 'usage') as sees`,
      [quoted],
    );
    const [row] = rows;
    if (!row?.looks) {
      return [
        {
          severity: "problem",
          found: `role ${row?.role} may not look at queues`,
          why: "whether consumers lag, workers died or maintenance has stopped cannot be said",
          fix: [await grantViewer(client, schema)],
        },
      ];
    }
    return [
      sessionsFinding(row.role, row.sees),
      ...(await rolesFinding(client, quoted)),
      ...(await creatorFindings(client, schema)),
    ];
  },
};

function sessionsFinding(role: string, sees: boolean): Finding {
  if (sees) return ok(`role ${role} may look at queues and at all sessions`);
  return {
    severity: "warning",
    found: `role ${role} does not see what other roles' sessions do`,
    why: "transactions of others that hold the horizon or a segment are shown without their age and query",
    fix: [`grant pg_read_all_stats to ${role}`],
  };
}

/** Without its roles the schema works for its owner, and by grant_queue. */
async function rolesFinding(client: Examination["client"], quoted: string): Promise<Finding[]> {
  const { rows } = await client.query<{ status: string; detail: string }>(
    `select status, detail from ${quoted}.status() where component = 'roles'`,
  );
  return rows.map(({ status, detail }) =>
    status === "ok"
      ? ok(`roles ${detail}`)
      : {
          severity: "warning",
          found: "the schema's roles have not been made",
          why: "only the owner may administer, and each queue has to be granted to each role",
          fix: [`select ${quoted}.create_roles()`],
        },
  );
}

/** Roles other than the owner that can create in the schema, or own something there. */
async function creatorFindings(client: Examination["client"], schema: string): Promise<Finding[]> {
  const { rows } = await client.query<{ found: string; fix: string }>(
    `with of_schema as (
       select n.* from pg_namespace n where n.nspname = $1
     ),
     -- whoever installs owns what is installed
     installer as (
       select p.proowner as oid from pg_proc p join of_schema n on n.oid = p.pronamespace and p.proname = 'create_queue' limit 1
     )
     select format('%s holds CREATE on schema %I', case when g.grantee = 0 then 'PUBLIC' else 'role ' || g.grantee::regrole end, n.nspname) as found,
            format('revoke create on schema %I from %s', n.nspname, case when g.grantee = 0 then 'public' else g.grantee::regrole::text end) as fix
       from of_schema n
      cross join installer i
      cross join lateral aclexplode(n.nspacl) g
      where g.privilege_type = 'CREATE' and g.grantee not in (n.nspowner, i.oid)
     union
     select format('role %s owns schema %I, and role %s what is in it', n.nspowner::regrole, n.nspname, i.oid::regrole),
            format('alter schema %I owner to %s', n.nspname, i.oid::regrole)
       from of_schema n
      cross join installer i
      where n.nspowner <> i.oid
     union
     select format('function %s belongs to role %s', p.oid::regprocedure, p.proowner::regrole), format('drop function %s', p.oid::regprocedure)
       from of_schema n
      cross join installer i
       join pg_proc p on p.pronamespace = n.oid and p.proowner <> i.oid
      order by 1`,
    [schema],
  );
  const why = "who can create a function in the schema can overload one that Pgque calls with the owner's rights";
  return rows.map(({ found, fix }) => ({ severity: "problem", found, why, fix: [fix] }));
}

async function grantViewer(client: Examination["client"], schema: string): Promise<string> {
  const { rows } = await client.query<{ grant: string }>(
    `select format('grant %I to %I', $1 || '_viewer', current_user) as grant`,
    [schema],
  );
  return rows[0]?.grant ?? "";
}
