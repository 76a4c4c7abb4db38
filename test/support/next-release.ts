import { packagedRelease, type Release, schemaVersion, type Statement } from "@pgque/sql";

const [major, minor, patch] = schemaVersion.split(".").map(Number);

/** Versions that are still to come. */
export const [patchVersion, nextVersion] = [1, 2].map((n) => `${major}.${minor}.${Number(patch) + n}`) as [
  string,
  string,
];

/** A release whose statements are those of another with changes: in each file a text that must be there, and what stands there instead. */
export function changed(
  release: Release,
  version: string,
  changes: readonly [file: string, old: string, fresh: string][],
  added: readonly Statement[] = [],
): Release {
  const statements = release.statements.map((one) => ({ ...one }));
  for (const [file, old, fresh] of changes) {
    const at = statements.find((one) => one.file === file && one.sql.includes(old));
    if (at === undefined) throw new Error(`expected ${file} to hold ${old}`);
    at.sql = at.sql.replace(old, () => fresh);
  }
  const rights = statements.findIndex(({ kind }) => kind === "right");
  statements.splice(rights, 0, ...added);
  return {
    ...release,
    version,
    fingerprint: `build of ${version}`,
    firstVersion: schemaVersion,
    statements: statements.filter(({ sql }) => sql !== ""),
  };
}

/** Functions alone: no migration. */
export const patchRelease: Release = changed(packagedRelease, patchVersion, [
  ["rotation/maintain.sql", "array_agg(q.name order by q.name)", "array_agg(q.name order by q.name desc)"],
]);

const forceTick = packagedRelease.statements.find(({ sql }) => sql.includes("function force_tick("))!;

/**
 * What a version may have that a migration is needed for: a column in the registry and one in the message tables, a function that is changed, one
 * that is generated, one that clients call with another signature, one of another result, one that is gone, and a ring.
 */
export const nextRelease: Release = {
  ...changed(
    packagedRelease,
    nextVersion,
    [
      [
        "queue/queue.sql",
        "created_at timestamptz not null default now()",
        "created_at timestamptz not null default now(),\n  note text",
      ],
      [
        "queue/segment.sql",
        "payload text,\n      headers jsonb\n",
        "payload text,\n      headers jsonb,\n      trace text\n",
      ],
      [
        "send/send.sql",
        "(${columns}seq, id, type, payload, headers)\nvalues (${values}message_id, message_id, type_name, payload, headers)",
        "(${columns}seq, id, type, payload, headers, trace)\nvalues (${values}message_id, message_id, type_name, payload, headers, {schema}.traced(${queue}))",
      ],
      [
        "receive/extend.sql",
        "lease interval default '30 s',",
        "lease interval default '30 s', note text default null,",
      ],
      ["compat/info.sql", "dead_letters bigint\n)", "dead_letters bigint,\n  note text\n)"],
      ["compat/info.sql", "s.delayed, s.dead_letters\n", "s.delayed, s.dead_letters, q.note\n"],
      ["rotation/maintain.sql", "array_agg(q.name order by q.name)", "array_agg(q.name order by q.name desc)"],
      [forceTick.file, forceTick.sql, ""],
    ],
    [
      {
        file: "core/trace.sql",
        kind: "routine",
        sql: "create function traced(queue_id int) returns text language sql immutable return 'by the new version'",
      },
      ...ring("create table trace (segment smallint not null, message_id bigint) partition by list (segment)"),
    ],
  ),
  migrations: [
    {
      number: 2,
      name: "002_trace",
      version: nextVersion,
      queueSql: "alter table message_<queue> add column trace text;",
      sql: [
        "alter table queue add column note text",
        ...ring("create table trace (segment smallint not null, message_id bigint) partition by list (segment)").map(
          ({ sql }) => sql,
        ),
      ]
        .map((sql) => `${sql};\n`)
        .join(""),
      functionsSql: "drop function get_queue_info(text);",
    },
  ],
};

function ring(parent: string): Statement[] {
  const children = [0, 1, 2].map(
    (n) => `create table trace_${n} partition of trace for values in (${n}) with (autovacuum_enabled = off)`,
  );
  return [parent, ...children, "create sequence trace_pointer minvalue 0"].map((sql) => ({
    file: "core/trace.sql",
    kind: "object",
    sql,
  }));
}
