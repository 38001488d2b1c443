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
