/** Throws when there is none: names are checked when options are. */
export function systemNamed<System extends { name: string }>(systems: System[], name: string): System {
  const found = systems.find((system) => system.name === name);
  if (found === undefined) throw new Error(`there is no system ${name}`);
  return found;
}
