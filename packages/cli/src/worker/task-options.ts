import type { OptionsOf } from "@pgque/client/options";
import { workerOptions } from "@pgque/worker/options";
import { OptionFlags } from "../option-flags.ts";

/** The flags of `pgque worker` for tasks that set no such option themselves. */
export const taskOptions = new OptionFlags(workerOptions, {
  // a handler is written for one or the other
  batch: null,
  transactional: null,
});

type Values = Omit<OptionsOf<typeof workerOptions>, "batch" | "transactional">;

/** Those options that a text can say. */
type Textual = {
  [Name in keyof Values]-?: NonNullable<Values[Name]> extends string | number | boolean ? Name : never;
}[keyof Values];

/** The same in a configuration: a duration is a text with a unit, `lease: "1m"`. */
export type TaskConfig = {
  [Name in Textual as Name extends `${infer Short}Ms` ? Short : Name]?: Name extends `${string}Ms`
    ? string | undefined
    : Values[Name];
};
