import { advisoryLockPicker } from "./advisory-lock.ts";
import { pgqueBatch, pgqueOne } from "./pgque.ts";
import type { Picker } from "./picker.ts";
import { skipLockedPicker } from "./skip-locked.ts";
import { bareUpdates } from "./update.ts";

/** In the order of the tables. */
export const pickers: Picker[] = [pgqueOne, pgqueBatch, skipLockedPicker, advisoryLockPicker, ...bareUpdates];

export const pickerNames = pickers.map(({ name }) => name);

export function pickerNamed(name: string): Picker {
  const found = pickers.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}
