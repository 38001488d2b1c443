/** What the program says while it works. Message first, then fields; secrets never get past it. */
export type Fields = Record<string, unknown>;

export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** A log whose every line carries these fields as well, for instance `{ module: "journal" }`. */
  with(fields: Fields): Log;
}

/** For tests that do not look at the log. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  error: () => undefined,
  with: () => silentLog,
};
