import type { Picker } from "./picker.ts";
import { tablePicker, tableSettings } from "./table.ts";

export const advisoryLockPicker: Picker = {
  name: "advisory-lock",
  summary:
    "one table; the first row by priority whose pg_try_advisory_xact_lock is got, DELETE. After depesz, as skip-locked, in our own wording",
  settings: [
    ...tableSettings,
    "FOR UPDATE besides: it leaves out a row that another has deleted since the snapshot was taken, which the advisory lock alone would give out again",
  ],
  publishedSeconds: 15.8,
  ...tablePicker(
    "select id::text, payload from job where pg_try_advisory_xact_lock(id) order by priority desc, job.id limit 1 for update",
  ),
};
