// The variables of receive that its statement reads, and what they are.
const variables: Record<string, string> = {
  "position.next_snapshot": "pg_snapshot",
  of_consumer: "int",
  after_txid: "xid8",
  after_seq: "bigint",
  before_txid: "xid8",
  max_messages: "int",
};

/**
 * A script that explains the statement with which a queue is received from: that of the last FOR loop of a receive function, without late
 * messages, with its variables as parameters, under the settings of the function.
 *
 * @param receive definition of the function
 */
export function explainable(receive: string): string {
  const [, statement = ""] = /.*\bfor message in\n(.*?)\n +loop\n/is.exec(receive) ?? [];
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
${prepared};
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
