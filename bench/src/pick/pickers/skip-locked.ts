import type { Picker } from "./picker.ts";
import { tablePicker, tableSettings } from "./table.ts";

export const skipLockedPicker: Picker = {
  name: "skip-locked",
  summary:
    'one table; SELECT … FOR UPDATE SKIP LOCKED, DELETE. After depesz, "What is SKIP LOCKED for" (2016), in our own wording',
  settings: tableSettings,
  publishedSeconds: 15.6,
  ...tablePicker("select id::text, payload from job order by priority desc, job.id limit 1 for update skip locked"),
};
