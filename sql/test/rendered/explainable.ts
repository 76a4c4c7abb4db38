// The variables of receive that its statement reads, and what they are.
const variables: Record<string, string> = {
  "position.prev_snapshot": "pg_snapshot",
  "position.next_snapshot": "pg_snapshot",
  "position.batch_no": "bigint",
  "position.window_batch_no": "bigint",
  "position.window_segments": "int[]",
  "position.window_mins": "xid8[]",
  "position.window_maxs": "xid8[]",
  "position.expired": "bigint",
  "position.settled_before": "bigint",
  "position.still_open": "bigint[]",
  "receive_1.worker": "text",
  "receive_1.tells_begun": "boolean",
  current_segment: "smallint",
  of_consumer: "int",
  keeps_window: "boolean",
  after_txid: "xid8",
  after_seq: "bigint",
  before_txid: "xid8",
  max_messages: "int",
  max_bytes: "int",
  started: "timestamptz",
  lease: "interval",
  rate_from: "timestamptz",
  rate_step: "interval",
};

/**
 * A script that explains the statement with which a queue is received from: that of the last RETURN QUERY of a receive function, without late
 * messages, with its variables as parameters, under the settings of the function.
 *
 * @param receive definition of the function
 */
export function explainable(receive: string): string {
  const [, statement = ""] = /.*\breturn query\n(.*?;)\n/is.exec(receive) ?? [];
  const used = Object.keys(variables).filter((name) => pattern(name).test(statement));
  const prepared = used.reduce((text, name, i) => text.replaceAll(pattern(name), `$${i + 1}`), outdented(statement));
  const settings = [...receive.matchAll(/^ SET (enable_\w+|plan_cache_mode|jit) TO '(\w+)'$/gm)];
  return `-- The plan of the statement with which a plain queue is received from: what receive_1 does when no message is late.
-- Paste it where pgque has a queue 1.
begin;
${settings.map(([, name, value]) => `set local ${name} = ${value};`).join("\n")}
prepare receive (
${used.map((name, i) => `  ${variables[name]}${i + 1 < used.length ? "," : ""} -- $${i + 1} ${name}`).join("\n")}
) as
${prepared}
explain (costs off) execute receive (${used.map(() => "null").join(", ")});
deallocate receive;
rollback;
`;
}

const pattern = (name: string): RegExp =>
  new RegExp(String.raw`(?<![\w.])${name.replace(".", String.raw`\.`)}(?!\w)`, "g");

function outdented(text: string): string {
  const [margin = ""] = /^ */.exec(text) ?? [];
  return text.replaceAll(new RegExp(`^${margin}`, "gm"), "");
}
