import path from "node:path";
import type { Document } from "../report/document.ts";
import { markdown } from "../report/markdown.ts";
import { wrap } from "../report/format.ts";
import { plainTable } from "../report/table.ts";
import { verdictText } from "../runner/target.ts";
import type { TargetsOfRun } from "./targets.ts";

const heads = ["run", "what", "measured", "target", ""];
const textColumns = heads.length;

/** A run is named by its folder, whose report has the command. */
function rowsOf(runs: TargetsOfRun[]): string[][] {
  return runs.flatMap(({ folder, reservation, outcomes }) =>
    outcomes.map((outcome) => [
      path.basename(folder) + inBrackets(reservation),
      outcome.what,
      outcome.measured,
      outcome.target,
      verdictText(outcome),
    ]),
  );
}

const inBrackets = (reservation: TargetsOfRun["reservation"]): string =>
  reservation === null ? "" : ` (${reservation})`;

/** For a terminal: a table for each run, and below it where a target was missed. */
export function targetsTerminal(runs: TargetsOfRun[]): string {
  return runs
    .map(({ folder, reservation, command, outcomes }) => {
      const table = plainTable(["", "measured", "target", ""], 4);
      for (const { what, measured, target, verdict } of outcomes) table.push([what, measured, target, verdict]);
      const reasons = outcomes.flatMap(({ what, because }) => (because === null ? [] : [`${what}: ${because}`]));
      const title = [folder + inBrackets(reservation), ...(command === null ? [] : [command])];
      return [title.join(": "), "", table.toString(), ...reasons.map((reason) => wrap(reason))].join("\n");
    })
    .join("\n\n\n");
}

/** The same for a file. */
export function targetsMarkdown(runs: TargetsOfRun[]): string {
  const document: Document = {
    title: "Targets, and what came of them",
    blocks: [
      {
        kind: "table",
        caption: "Targets",
        heads,
        textColumns,
        rows: rowsOf(runs).map((cells) => ({ cells, absence: null })),
      },
    ],
  };
  return markdown(document);
}
