import { firstLine, shortened, showCount } from "../output/text.ts";
import { ok, type Check, type Finding } from "./finding.ts";

interface Died {
  queue_name: string;
  dead_letters: number;
  lately: number;
  reason: string | null;
}

/** More than this is not counted, of one queue. */
const countedMax = 1000;

/** Messages that died within the hour. */
export const deadLettersCheck: Check = {
  name: "dead-letters",
  needsSchema: true,
  async run({ client, quoted }) {
    const { rows } = await client.query<Died>(
      `select s.queue_name, s.dead_letters::float8, d.lately, d.reason
         from ${quoted}.queue_status() s
        cross join lateral (
          select count(*)::int as lately, mode() within group (order by l.reason) as reason
            from ${quoted}.dead_letters(s.queue_name, died_after => clock_timestamp() - interval '1 hour', max_messages => $1) l
        ) d
        where s.dead_letters > 0
        order by s.queue_name`,
      [countedMax],
    );
    if (rows.length === 0) return [ok("there are none")];
    return rows.map((row) => deadLetterFinding(row, quoted, client.escapeLiteral(row.queue_name)));
  },
};

function deadLetterFinding({ queue_name, dead_letters, lately, reason }: Died, quoted: string, queue: string): Finding {
  const all = `queue ${JSON.stringify(queue_name)} has ${showCount(dead_letters)}`;
  if (lately === 0) return ok(`${all}, none of the last hour`);
  const reasons = reason === null ? "" : `, mostly because of ${JSON.stringify(shortened(firstLine(reason), 100))}`;
  return {
    severity: "warning",
    found: `${all}, ${lately >= countedMax ? "more than " : ""}${showCount(lately)} of the last hour${reasons}`,
    why: "a handler fails for good: nobody will try these messages again",
    fix: [
      `select id, consumer, attempt, reason, payload from ${quoted}.dead_letters(${queue}, max_messages => 20)`,
      `-- once the handler is fixed: select ${quoted}.redrive(${queue})`,
    ],
  };
}
