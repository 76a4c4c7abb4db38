import { heading, list, paragraph, type Block, type Document, type Item, type Text } from "./document.ts";
import { machineLine, type Machine } from "./machine.ts";

/** How a report ends: all that is needed to judge it, and to run it again. */
export function closing(systems: (Text | Item)[], settings: string[], machine: Machine): Block[] {
  return [
    heading("What was run"),
    ...list(systems),
    heading("Settings"),
    ...list(settings),
    heading("Machine"),
    ...paragraph(machineLine(machine)),
  ];
}

/** The same, with the command that it came from. */
export function withCommand({ title, blocks }: Document, command: string | undefined): Document {
  if (command === undefined) return { title, blocks };
  return { title, blocks: [...blocks, heading("To run it again"), ...paragraph([{ kind: "code", text: command }])] };
}
