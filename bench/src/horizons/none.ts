import type { Horizon } from "./horizon.ts";
import { unheldFrom } from "./oldest-holder.ts";

/** Nothing is held; and proves it, since a forgotten transaction elsewhere would make the comparison worthless. */
export const none: Horizon = {
  name: "none",
  summary: "nobody holds the horizon",
  async hold({ admin }) {
    const ageUnheld = await unheldFrom(admin);
    return {
      prove: async () => ({ xminAge: await ageUnheld() }),
      async release() {},
    };
  },
};
