import { NotRun } from "../../scenario/not-run.ts";

/**
 * Loads an optional peer when a cell needs it.
 *
 * @param packages as `npm install` takes them
 * @throws NotRun when it is not installed
 */
export async function peer<Module>(packages: string[], load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new NotRun(`${packages.join(" or ")} is not installed: npm install ${packages.join(" ")}`);
  }
}
