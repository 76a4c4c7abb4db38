import { fork, type ChildProcess } from "node:child_process";
import type { Methods, Question, Reply } from "./serve.ts";

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

type Answer<Method> = Method extends (...args: never[]) => infer R ? Awaited<R> : never;

/** A Node.js process of the harness's own, which answers `Served`, the methods that its module serves. */
export class Child<Served extends Methods> {
  /** Resolves with the reason when it ends without having been told to. */
  readonly failed: Promise<Error>;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #questions = 0;
  #stopped = false;

  /**
   * @param module of the process, beside the caller's
   * @param onNote is given what it says unasked
   */
  constructor(module: URL, onNote: (value: unknown) => void = () => undefined, nodeOptions: string[] = []) {
    this.#process = fork(module, {
      execArgv: nodeOptions,
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#process.on("message", (reply: Reply) => {
      if ("note" in reply) onNote(reply.note);
      else this.#replied(reply);
    });
    const ended = Promise.withResolvers<void>();
    this.#ended = ended.promise;
    this.failed = new Promise((resolve) => {
      const end = (reason: string): void => {
        const error = new Error(reason);
        for (const { reject } of this.#waiting.values()) reject(error);
        this.#waiting.clear();
        if (!this.#stopped) resolve(error);
        ended.resolve();
      };
      this.#process.once("error", (error) => end(`a process of the benchmark could not be run: ${error.message}`));
      this.#process.once("exit", (code, signal) => end(`a process of the benchmark ended with ${signal ?? code}`));
    });
  }

  /** Rejects when the method does, or when the process ends before it has answered. */
  call<Name extends keyof Served & string>(
    method: Name,
    ...[argument]: Parameters<Served[Name]>
  ): Promise<Answer<Served[Name]>> {
    const id = ++this.#questions;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: (value) => resolve(value as Answer<Served[Name]>), reject });
      const question: Question = { id, method, argument };
      this.#process.send(question, (error) => {
        if (error !== null && this.#waiting.delete(id)) reject(error);
      });
    });
  }

  /** What it holds is not wanted any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#process.kill("SIGKILL");
    await this.#ended;
  }

  #replied({ id, value, error }: Exclude<Reply, { note: unknown }>): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(new Error(error));
  }
}
