export const logLevels = ["debug", "info", "warn", "error"] as const;
export const logFormats = ["json", "pretty"] as const;

/** How a worker logs. */
export interface LogFlags {
  logLevel: (typeof logLevels)[number];
  /** Default: for people on a terminal, else JSON. */
  logFormat?: (typeof logFormats)[number];
}
