import type pg from "pg";

interface PlanNode {
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Join Filter"?: number;
  Plans?: PlanNode[];
}

/** What the plans of a statement and of all statements in the functions that it calls say they have done. */
export interface Work {
  /** Rows that went through a step of a plan, or were looked at there and left out. */
  rows: number;
  /** Conditions that compare each of many rows with the members of an array, one after the other. */
  listsCompared: string[];
}

/** Runs a statement and adds up what its plans did. Of a session of its own: it stays set to report every plan. */
export async function workOf(client: pg.Client, statement: string, values: unknown[] = []): Promise<Work> {
  await client.query(`load 'auto_explain';
    set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on; set auto_explain.log_analyze = on;
    set auto_explain.log_timing = off; set auto_explain.log_verbose = on; set auto_explain.log_format = json; set auto_explain.log_level = notice`);
  const work: Work = { rows: 0, listsCompared: [] };
  const count = ({ message = "" }: { message?: string | undefined }): void => {
    const plan = /plan:\n(.*)/s.exec(message)?.[1];
    if (plan !== undefined) addUp(work, JSON.parse(plan).Plan);
  };
  client.on("notice", count);
  await client.query(statement, values);
  client.off("notice", count);
  return work;
}

function addUp(work: Work, node: PlanNode): void {
  const loops = node["Actual Loops"] ?? 0;
  const removed = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Join Filter"] ?? 0);
  const rows = ((node["Actual Rows"] ?? 0) + removed) * loops;
  work.rows += rows;
  const { Plans = [], ...own } = node;
  if (rows > 100) {
    const compared = /[^"]*(?:(?:<>|=) (?:ANY|ALL) \((?!hashed)|array_position)[^"]*/.exec(JSON.stringify(own));
    if (compared !== null) work.listsCompared.push(compared[0]);
  }
  for (const child of Plans) addUp(work, child);
}
