/** Every bound in the program, with its reason. Nothing waits, grows or retries without one of these. */
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

export const limits = {
  // Queue
  /** Keys one queue holds at once, waiting ones included: ten times the open orders ever seen on the network. */
  queueKeys: 200_000,
  /** Keys worked on between two breaths of the event loop, so that a flood of quick keys cannot starve I/O. */
  queueSliceKeys: 256,
  /** First retry of a key that failed or waits: quick, since most causes pass within a block. */
  queueBackoffFirstMs: 500,
  /** Longest pause between retries: an operator who repaired something should not wait longer than this. */
  queueBackoffMostMs: 2 * minute,
  /** A key that needs a human is still looked at now and then, in case the human forgot to tell us. */
  queueStalledRecheckMs: 15 * minute,

  // Lifecycle
  /** Kubernetes kills a pod 30 s after it asked it to stop; leave some of that for the process to exit. */
  shutdownMs: 25 * second,
  /** A service that is not ready by then will not be; say so instead of hanging at start. */
  serviceStartMs: 2 * minute,

  // Journal
  /** Relaxed writes wait this long for company before they are committed. */
  journalRelaxedFlushMs: 50,
  /** Writes in one commit: more would hold the event loop longer than its 50 ms bar. */
  journalGroupWrites: 2_000,
  /** How often old rows are looked for. */
  journalRetentionEveryMs: 10 * minute,
  /** Rows deleted in one go, for the same reason as journalGroupWrites. */
  journalRetentionRows: 2_000,
  /** Settled intents are kept long enough to answer a dispute about last month's bill. */
  journalIntentsKeepMs: 45 * day,
  /** Decisions answer "why did you not bid?", which is asked within days. */
  journalDecisionsKeepMs: 14 * day,
  journalDecisionsKeepRows: 500_000,
  /** Manifests of closed leases hold tenants' secrets; do not keep them longer than a dispute takes. */
  journalManifestsKeepMs: 7 * day,
  journalHistoryKeepMs: 90 * day,
  journalHistoryKeepRows: 200_000,
  /** The ledger is the operator's bookkeeping: a tax year and the time to file it. */
  journalLedgerKeepMs: 550 * day,
  /** Journals that were set aside: enough to look into a series of faults, not enough to fill the disk. */
  journalSetAsideKept: 3,

  // Bus
  /** Messages that may wait for one slow subscriber; then the oldest is dropped and counted by topic. */
  busSubscriberMessages: 1_000,
  /** Messages that wait while Redis is away; then the oldest is dropped and counted by topic. */
  busOutgoingMessages: 10_000,
  /** Entries that Redis keeps per topic for subscribers that were away. */
  busStreamEntries: 10_000,
  /** One message: a cluster snapshot of 1,000 nodes is about 1 MB. */
  busMessageBytes: 8 * 1024 * 1024,
  /** A Redis that hangs is as dead as one that is gone; it answers a PING in this time or is left. */
  busHeartbeatMs: 2 * second,
  busReconnectFirstMs: 100,
  busReconnectMostMs: 5 * second,

  // Logs
  /** A log line is for people: longer strings are cut. */
  logStringChars: 4_096,
  logDepth: 8,
} as const;
