import type { Document } from "../report/document.ts";
import type { ResultsHead } from "../report/results.ts";
import type { Server, ServerSettings } from "./server.ts";
import type { CommonSettings } from "./options.ts";

/** What the settings of every scenario have. */
export interface ScenarioSettings extends ServerSettings, CommonSettings {
  /** How often the plan has everything, one repeat after the other. Default: 1. */
  repeat?: number;
  /** Small sizes and one repeat: indicative only. */
  quick: boolean;
}

/** What the results of every scenario have. */
export interface ScenarioResults extends ResultsHead {
  settings: { quick: boolean; embedded: boolean; server: Record<string, string>; synchronousCommit: string };
  /** True when it was stopped before all was measured. */
  interrupted: boolean;
}

export interface StepContext<Settings> {
  server: Server;
  settings: Settings;
  signal: AbortSignal;
  /** Says what the step is at. */
  note: (text: string) => void;
}

/** What a benchmark measures, step by step, and how it is told. */
export interface Scenario<Options, Settings, Step, Measured, Results> {
  name: string;
  /** Fills in what is not given. Throws a BenchOptionError for the first option that cannot be used. */
  resolve(options: Options): Settings;
  /** What an embedded server needs besides. Default: nothing. */
  serverSettings?(settings: Settings): Record<string, string | number>;
  /** The results of an earlier run to compare with. Called before anything is measured. Throws a BenchOptionError when they cannot be compared. Default: none. */
  baseline?(settings: Settings): Promise<Results | null>;
  /** Without any trials. With several majors it is called for each as well: tables, ratios and what else is made of results is made of those of one server. */
  results(head: ResultsHead, settings: Settings, server: Server): Results;
  /** In this order: what is to be compared in turn, so that a machine that gets slower gets slower for all. */
  plan(settings: Settings): Step[];
  /**
   * What cannot be measured has its reason among the results. Throws when it is stopped, which forgets the step, and when it makes no sense
   * to go on.
   */
  measure(step: Step, context: StepContext<Settings>): Promise<Measured>;
  keep(results: Results, measured: Measured): void;
  /** The report: report.md and report.html. */
  document(results: Results, measured: Measured[], baseline: Results | null): Document;
  /** What is written beside it and results.json, by name. Default: nothing. */
  files?(measured: Measured[]): Record<string, string>;
  /** The tables for a terminal. */
  report(results: Results, baseline: Results | null): string;
  /** Whether something has no figures although it was run. */
  failed(results: Results): boolean;
  /** What is measured, in a few words, for the first line. */
  headline(results: Results, steps: Step[]): string;
  /** What one step is expected to take, until the first ones have shown it. */
  stepSeconds(settings: Settings, steps: Step[]): number;
  stepText(step: Step): string;
  measuredText(measured: Measured): string;
}

/** Told what happens while it happens. The run goes on without anyone listening. */
export interface Progress {
  /** Once. `head`: what is run, and where. */
  begin(head: string, steps: number, stepSeconds: number): void;
  stepStarted(text: string): void;
  note(text: string): void;
  stepDone(text: string): void;
  /** Always, also after an error; nothing is drawn after it. */
  end(): void;
}

export const silent: Progress = { begin() {}, stepStarted() {}, note() {}, stepDone() {}, end() {} };
