/** Bounds that several modules share, each with its reason. A bound with one user stands beside it. */
import { day, minute, second } from "./durations.ts";

/** Kubernetes kills a pod 30 s after it asked it to stop; leave some of that for the process to exit. */
export const shutdownLimitMs = 25 * second;
/** A provider.yaml is a page or two of text; what is longer than a thousand attributes is another file. */
export const settingsFileChars = 100_000;
/** Faults of syntax that are told: one misplaced bracket makes hundreds, and the first ones say it all. */
export const settingsFileFaults = 5;
/** How often a file that may change is looked at: a person who changed it waits no longer, and it costs one read. */
export const followedFileMs = 5 * second;
export const leaseHistoryMostLines = 10_000;
/** The ledger is the operator's bookkeeping: a tax year and the time to file it. */
export const journalLedgerKeepMs = 550 * day;
/** What orders ended at: a season of the market, enough to try other prices on. A setting says otherwise. */
export const journalOrdersKeepMs = 90 * day;
/** Orders in one list: each takes up to a fifth of a millisecond, in which the provider does nothing else. */
export const ordersListed = 200;
/** Gas of one withdrawal among others, with a margin: what it is weighed against before any has landed. */
export const withdrawalGas = 200_000n;
/** The status of a service on the bus: a change is told at once, the next one not before this. */
export const statusEveryMs = second;
/** Of one body: etcd takes no object of more than 1.5 MiB, and the Manifest resource holds it in other words. */
export const manifestBytes = 1024 * 1024;
/** A lease that could not be closed is tried again after this: each attempt may cost a fee. */
export const leaseCloseRetryMs = minute;
/** The newest events of the market that are kept to be shown. */
export const viewEvents = 8;
/** Pauses before the same height is tried again after every node failed. */
export const rpcRetryFirstMs = 250;
export const rpcRetryMostMs = 5 * second;
/** Queries at once while the mirror is built or brought up to date. */
export const rpcMirrorQueries = 8;
/** Records of one kind that are read one by one; for more, the list is read instead. */
export const rpcMirrorSingles = 32;
/** Times that the mirror's lists are begun: if three nodes in a row fail half-way, it is not the nodes. */
export const rpcMirrorTries = 3;
/** Intents of one priority or above that are not settled: five blocks full of bids. Who wants more looks again later. */
export const outboxIntents = 10_000;
/** One call: the slowest sound answers, pages of large objects, take a few seconds. */
export const kubeCallMs = 30 * second;
/** An operator that starts before its API server is there looks for it this often. */
export const ownPodRetryMs = 2 * second;
/** Twice this long host names are told as they were last seen, though the cluster is seen no more: longer than a new connection takes. */
export const hostnameSightMs = 15 * second;
/** Shorter secrets would mask ordinary words and so give themselves away. */
export const redactorSecretLeastChars = 6;
/** The longest secret is an RSA key in PEM. */
export const redactorSecretMostChars = 8_192;
/** The network's limit of volumes of one unit. */
export const unitVolumes = 4;
/** From the end of a stream's rights to its close frame; and from there to the end of our half of its connection. */
export const streamFarewellMs = second;

/** Of the bus; tests take smaller ones. */
export const limits = {
  /** Messages that may wait for one slow subscriber; then the oldest is dropped and counted by topic. */
  busSubscriberMessages: 1_000,
  /** The same in bytes, since a thousand cluster snapshots would be a gigabyte. */
  busSubscriberBytes: 64 * 1024 * 1024,
  /** Messages that wait while Redis is away; then the oldest is dropped and counted by topic. */
  busOutgoingMessages: 10_000,
  /** The same in bytes, for the same reason as busSubscriberBytes. */
  busOutgoingBytes: 64 * 1024 * 1024,
  /** Entries that Redis keeps per topic for subscribers that were away. */
  busStreamEntries: 10_000,
  /** Entries of a topic that carries whole snapshots: they are large, and only the last one matters. */
  busStreamSnapshots: 16,
  /** One message: a cluster snapshot of 1,000 nodes is about 1 MB. */
  busMessageBytes: 8 * 1024 * 1024,
  /** Topics of one process, with those of a family: each costs counters, a retained value and a metric. */
  busTopics: 1_000,
  /** Messages handed to one subscriber between two breaths of the event loop, so that a flood cannot starve I/O. */
  busSliceMessages: 256,
  /** Messages in one write: Redis serves nobody else during it, about 2 ms. */
  busBatchMessages: 256,
  /** The same in bytes; a single larger message travels alone. */
  busBatchBytes: 1024 * 1024,
  /** Entries per topic in one read: what Redis stores in one node of a stream. */
  busReadEntries: 100,
  /** Ids of read entries that are remembered per topic, to find the common past again after a failover. */
  busRecentIds: 1_000,
  /** A Redis that hangs is as dead as one that is gone; it answers a PING in this time or is left. */
  busHeartbeatMs: 2 * second,
  busReconnectFirstMs: 100,
  busReconnectMostMs: 5 * second,
} as const;
