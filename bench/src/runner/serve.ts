/** What a process of the harness answers, by name. Arguments and answers are what `structuredClone` copies. */
export type Methods = Record<string, (argument: never) => unknown>;

/** What the harness and its processes say to each other. */
export type Question = { id: number; method: string; argument: unknown };
export type Reply = { id: number; value?: unknown; error?: string } | { note: unknown };

/** Answers the harness until it is gone. Whoever stops a run stops the harness, which stops its processes. */
export function serve(methods: Methods): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  process.on("disconnect", () => process.exit());
  process.on("message", (question: Question) => void answer(methods, question));
}

/** Tells the harness something that it has not asked for. */
export function note(value: unknown): void {
  reply({ note: value });
}

async function answer(methods: Methods, { id, method, argument }: Question): Promise<void> {
  try {
    reply({ id, value: await methods[method]?.(argument as never) });
  } catch (error) {
    reply({ id, error: error instanceof Error ? error.message : String(error) });
  }
}

function reply(message: Reply): void {
  if (process.connected) process.send?.(message);
}
