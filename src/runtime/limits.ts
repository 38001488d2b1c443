/** Every bound in the program, with its reason. Nothing waits, grows or retries without one of these. */
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

export const limits = {
  // Settings
  /** A provider.yaml is a page or two of text; what is longer than a thousand attributes is another file. */
  settingsFileChars: 100_000,
  /** An attribute is four nodes, and nobody publishes a thousand: more means that aliases multiply. */
  settingsFileNodes: 10_000,
  /** The deepest thing in it is a text in an attribute in a list; aliases may add a few. */
  settingsFileDepth: 16,
  /** Faults of syntax that are told: one misplaced bracket makes hundreds, and the first ones say it all. */
  settingsFileFaults: 5,
  /** How often a file that may change is looked at: a person who changed it waits no longer, and it costs one read. */
  followedFileMs: 5 * second,

  // Prices
  /** What a price script may print, and again its errors: a price is a line, and somebody may let it tell what it does. */
  priceScriptBytes: 64 * 1024,
  /** What is shown of that: enough to see what went wrong. */
  priceOutputChars: 500,
  /** The price of a token: a number, or a page of JSON with those of many tokens. */
  tokenPriceBytes: 1024 * 1024,
  tokenPriceAnswerMs: 10 * second,
  /** First pause after it could not be read; it grows up to the period. */
  tokenPriceRetryFirstMs: 10 * second,
  /** How far its time may lie ahead of our clock: clocks that are looked after differ by less. */
  tokenPriceAheadMs: 5 * minute,

  // Programs that we start
  /** After its end, or our word to it, a program's pipes close at once unless something keeps them. */
  processEndMs: 500,

  // Keys
  /** The longest file with a secret is an entry of a keyring: under 2 KiB. Not more than redactorSecretMostChars. */
  keyFileBytes: 8_192,
  /** Rounds of PBKDF2 that an entry of a keyring may ask for: what the network's tools accept, about a second. */
  keyringIterations: 1_300_000,
  /** Names of keys in one message: nobody reads more. */
  keyringNamesTold: 20,

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

  // Conditions
  /** How often services are asked what is wrong: an operator is told within seconds, and each answers from what it holds. */
  conditionsLookMs: 5 * second,
  /** How long a condition must be there before it counts, and gone before it is over: two blocks, which most troubles do not outlive. */
  conditionSettleMs: 15 * second,
  /** Conditions held at once: twice what all services together tell at most. */
  conditionsHeld: 1_000,
  /** A receiver of notifications that takes longer is not there. */
  notifyAnswerMs: 10 * second,
  /** A certificate that ends this soon and has no successor: ours is renewed a month before, a public one at a third of its life. */
  certificateEndsSoonMs: 14 * day,

  /** A mirror that shows no newer block is worth a word: half a minute longer than the longest stand-still that passes by itself. */
  chainOldMs: 2 * minute,

  // Placement
  /** Kinds of gpus on one node: a set of them is bits of a number, and no machine has more slots. */
  nodeCardKinds: 30,
  /** Replicas up to which a group is placed exactly: 203 ways to share out six of them, 877 with seven. */
  placementExactReplicas: 6,
  /** Units of one group that are placed: each is looked for on every node, and a manifest that long is nobody's. */
  placementUnits: 300,
  /** Replicas of one group that are placed: each is an entry in a reservation, and Kubernetes ends at 5,000 nodes. */
  placementReplicas: 10_000,
  /** Models, classes or shortages that one sentence about a misfit lists. */
  misfitListed: 5,

  // Lifecycle
  /** Kubernetes kills a pod 30 s after it asked it to stop; leave some of that for the process to exit. */
  shutdownMs: 25 * second,
  /** A service that is not ready by then will not be; say so instead of hanging at start. */
  serviceStartMs: 2 * minute,

  // Journal
  /** Relaxed writes wait this long for more of them before they are committed. */
  journalRelaxedFlushMs: 50,
  /** Writes in one commit: more would hold the event loop longer than its 50 ms bar. */
  journalGroupWrites: 2_000,
  /** Units that wait for their commit; more means that the disk no longer keeps up, and loops had better back off. */
  journalWaitingUnits: 50_000,
  /** Another program (a backup, an operator's shell) may hold the file for an instant; waiting blocks the event loop. */
  journalBusyMs: 250,
  /** A predecessor that is just exiting is waited for; after that a person had better hear of it. */
  journalLockWaitMs: 500,
  /** SQLite folds its log back every 4 MB; a burst that made it longer is given back to the disk beyond this. */
  journalWalBytes: 64 * 1024 * 1024,
  /** How often old rows are looked for. */
  journalRetentionEveryMs: 10 * minute,
  /** Rows deleted in one go, for the same reason as journalGroupWrites. */
  journalRetentionRows: 2_000,
  /** Settled intents are kept long enough to answer a dispute about last month's bill. */
  journalIntentsKeepMs: 45 * day,
  /** Rows bound the file where age alone would not: fifteen intents a minute for 45 days, about 1 GB. */
  journalIntentsKeepRows: 1_000_000,
  /** Decisions answer "why did you not bid?", which is asked within days. */
  journalDecisionsKeepMs: 14 * day,
  journalDecisionsKeepRows: 500_000,
  journalHistoryKeepMs: 90 * day,
  journalHistoryKeepRows: 200_000,
  /** Of one lease: five updates a day for that time. The oldest go, so a tenant who sends thousands crowds out nobody. */
  historyOfSubject: 1_000,
  /** Tenants and operators ask about the last days; a lease in a crash loop has a handful, each counted. */
  journalOccurrencesKeepMs: 30 * day,
  /** A thousand leases with as many as one may have, or ten times as many with a handful; under 200 MB. */
  journalOccurrencesKeepRows: 200_000,
  /** Of one lease, of what the cluster tells and of what we do, each: the oldest go, so nobody crowds out another. */
  occurrencesOfLease: 100,
  /** Events of which a row knows how often each was counted: the pods of a large service. Beyond, it counts too few. */
  occurrenceEvents: 32,
  /** By how much the clock of a node may be off: ahead of ours, and behind the server's when that made the Event. */
  occurrenceAheadMs: minute,
  occurrenceBehindMs: day,
  /** How long Events are gathered before they are written down together. */
  occurrenceGatherMs: second,
  /** Events that wait to be written down; then the server is not listened to until they are. */
  occurrencesWaiting: 2_000,
  /** Of these in one unit of the journal: a few milliseconds. */
  occurrenceWrites: 200,
  /** Of what an Event says; the API server takes 1,024 bytes. */
  occurrenceNoteChars: 1_024,
  /** Of a reason, which is a word, and of a name in an Event: the longest that Kubernetes takes. */
  occurrenceReasonChars: 128,
  occurrenceNameChars: 253,
  /** A trouble that goes by sooner is none worth telling: a pod that waits for its node or its volume. */
  troubleBegunMs: 15 * second,
  /** One in a crash loop runs for a moment between two crashes: well again is who stays so. */
  troubleOverMs: 2 * minute,
  /** Lines of the history that are told at once; the others with the next block. */
  deedsTold: 100,
  /** Lines of a lease's history that a command shows unless told otherwise, and at most: all that there can be. */
  leaseHistoryLines: 100,
  leaseHistoryMostLines: 10_000,
  /** The ledger is the operator's bookkeeping: a tax year and the time to file it. */
  journalLedgerKeepMs: 550 * day,
  /** 2,000 leases, each with what it earned, a withdrawal and its fee every day of that time: about 1 GB. */
  journalLedgerKeepRows: 3_300_000,
  /** Leases that ended: three hundred a day for that time. */
  journalPaymentsKeepRows: 165_000,
  /** Leases and bids that are asked about at once, to bring the books up to date: beside what else the nodes are asked. */
  booksQueries: 4,
  /** Those that are asked about before what was found is booked: a failure costs no more than these. */
  booksSlice: 100,
  /** Ended leases that something may still come in for, and that are asked about at once: of the newest, and of those not asked about for longest. */
  booksDebts: 25,
  /** How often these are asked about at most, after coins have moved: less than one a second, and nobody waits for it. */
  booksDebtsEveryMs: minute,
  /** Lines of the ledger that are read at once to sum them up: a megabyte or two. */
  earningsPageLines: 5_000,
  /** How far apart blocks must be to tell how fast the chain makes them: about ten minutes. */
  earningsPaceBlocks: 100n,
  /** How long a block takes where nothing tells: what the network aims at. */
  earningsBlockMs: 6 * second,
  /** What a question about earnings may go back: longer than the books are kept. */
  earningsDays: 3_660,
  /** What orders ended at: a season of the market, enough to try other prices on. A setting says otherwise. */
  journalOrdersKeepMs: 90 * day,
  /** Three thousand orders a day for that time, about 300 MB. */
  journalOrdersKeepRows: 270_000,
  /** Journals that were set aside: enough to look into a series of faults, not enough to fill the disk. */
  journalSetAsideKept: 3,

  // Bus
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

  // Reservations
  /** A picture true this long after a pod was bound counts it: several times what an operator takes to show a change. */
  reservationSettleMs: 15 * second,
  /** A pod bound this long ago, by the cluster's clock, is in every picture; no clock that works is off by more. */
  reservationLongBoundMs: 2 * minute,
  /** One that has outlived its time is looked at again this often while something still stands behind it. */
  reservationRecheckMs: minute,
  /** Promises that are moved to other nodes after one picture: each is a placement, and pictures come every second. */
  reservationMoves: 100,
  /** Of what is wrong with promises: enough to see what it is. */
  reservationConditions: 50,
  /** Storage classes, and models of gpus, that are told of one by one; a large cluster has a few dozen. */
  clusterStatusNames: 100,
  /** How often it is looked whether a picture has become too old, which nobody tells: two minutes are the bound. */
  clusterStatusLookMs: 10 * second,

  // Commands that send a transaction
  /** A person waits for it: twenty blocks is long enough for any node to include it. */
  sendValidMs: 2 * minute,
  /** The same where a chain counts blocks instead of time. */
  sendValidBlocks: 20,
  /** Often enough to feel prompt with blocks of one second. */
  sendLookEveryMs: 500,

  // Demo
  /** Stories that the live view can show; a terminal has room for about this many. */
  demoStories: 16,

  // Bid engine
  /** Orders of one deployment that are told of: a group of it is ordered again whenever a lease of it ends. */
  ordersTold: 50,
  /** Orders in one list: each takes up to a fifth of a millisecond, in which the provider does nothing else. */
  ordersListed: 200,
  /** Orders with news that may wait for whoever follows them: a few blocks of the busiest market. */
  ordersNews: 10_000,
  /** Remembered orders by which a policy file is tried; in the process of the command. */
  ordersJudged: 10_000,
  /** Why a person paused bidding: a sentence. */
  pauseReasonChars: 500,
  /** Decisions on one order that are told: they are recorded when they differ, and the last few say it all. */
  decisionsTold: 20,
  /** Of a group as JSON: a usual one has a few hundred characters, and what is longer than this nobody means. */
  orderSpecChars: 16_384,
  /** Runs of the order loop at once: those that wait for a price script must not hold up those that end a bid. */
  orderRuns: 10_000,
  /** Orders that got a no are looked at again at this pace, when what they wait for has changed. */
  orderRecheckEveryMs: 2 * second,
  /** Of them in one go: some ten milliseconds of work where the cluster is large. */
  orderRecheckKeys: 100,
  /** And all of them this often, changed or not; a price script is not asked sooner about the same order. */
  orderRecheckMs: 10 * minute,
  /** What changes by itself, as the age of a picture does, is looked at this often. */
  orderTimeRecheckMs: 15 * second,
  /** A bid that has not left by then was priced for another world. */
  bidIntentMs: 10 * minute,
  /** Gas of one bid, with a margin: what the wallet must have for its fee. */
  bidGas: 400_000n,
  /** Gas of one withdrawal among others, with a margin: what it is weighed against before any has landed. */
  withdrawalGas: 200_000n,
  /** And of each further lease that the same escrow pays: all of them are written anew. */
  withdrawalGasEach: 30_000n,
  /** Earnings worth so many times the fee come home at once: no more than a hundredth of them is spent on that. */
  withdrawalWorth: 100n,
  /** After a withdrawal that came to nothing, the next one waits this long, and twice as long each time. */
  withdrawalPauseFirstMs: 10 * minute,
  withdrawalPauseMostMs: 24 * hour,
  /** Of one that is sure to end a lease: whoever made others come to nothing gets no more than this for nothing. */
  settlingPauseMostMs: hour,
  /** Withdrawals that one round files, about ten transactions full of them; the others wait for the next one. */
  withdrawalsOfRound: 500,
  /** Escrows that are booked in one go: a tenth of a second in which nothing else happens. */
  escrowsAtOnce: 250,
  /** First pause after escrows could not be read; it doubles up to the other. */
  escrowRetryFirstMs: second,
  escrowRetryMostMs: minute,
  /** An escrow that runs out within this time is announced. */
  escrowAnnouncedMs: 24 * hour,
  /** Settled withdrawals whose cost says what the next one may cost. */
  withdrawalFeesKept: 16,
  /** A bid that could not be closed is tried again after this: each attempt may cost a fee. */
  bidCloseRetryMs: minute,
  /** The mirror and the chain do not agree on a bid: the next block settles it. */
  bidLookAgainMs: 2 * second,
  /** Ends of orders that blocks told and nobody has asked for yet. */
  marketEndsHeld: 20_000,
  /** Orders whose end is asked of the chain at once: nobody waits for it, and nodes have other things to do. */
  marketMemoryQueries: 4,
  /** The status of a service on the bus: a change is told at once, the next one not before this. */
  statusEveryMs: second,
  /** Changes of nodes to the next look at the cluster's network: each may write a policy of every lease. */
  networkEveryMs: second,
  /** Ranges of public nodes in the policy of every lease, 16 KiB; beyond, neighbours of the nodes are closed with them. */
  networkRanges: 500,

  // Manifests
  /** Of one body: etcd takes no object of more than 1.5 MiB, and the Manifest resource holds it in other words. */
  manifestBytes: 1024 * 1024,
  /** Requests about one deployment that wait for each other: a tool sends one, and again when it has waited too long. */
  manifestWaiting: 8,
  /** How often the cluster's memory of a manifest is held against the journal's. It asks nobody for anything. */
  manifestRecheckMs: 10 * minute,
  /** A lease that could not be closed is tried again after this: each attempt may cost a fee. */
  leaseCloseRetryMs: minute,
  /** Leases without a manifest that the status document names. */
  manifestWaitsTold: 20,

  // Live view
  /** The newest events of the market that are kept to be shown. */
  viewEvents: 8,

  // Chain over RPC
  /** One call to a node: the slowest sound answers, long lists, take a few seconds. */
  rpcCallMs: 10 * second,
  /** A call on the way to the next block is given up after a block time, but never sooner than this. */
  rpcCallLeastMs: 500,
  /** The largest sound answer is the result of a full block of 22 MB. */
  rpcAnswerBytes: 64 * 1024 * 1024,
  /** Connections to one node: more would not make it quicker, and public ones count them. */
  rpcSockets: 32,
  /** An idle connection is let go before the node, which does so after 10 s or more, can cut a call short. */
  rpcIdleMs: 8 * second,
  /** How often certificate files are looked at for a change. */
  rpcTlsRecheckMs: 10 * second,
  /** A node this far behind the best one is not used: within two blocks nodes differ all the time. */
  rpcLagBlocks: 3n,
  /** How often every node is asked how it is, and how long it may take to say: about a block. */
  rpcProbeMs: 5 * second,
  /** A height that a node told us is believed this long where it matters that the node has not fallen back. */
  rpcReadingMs: 2 * second,
  /** A node that takes longer on average is used only where no other is quicker: a block asks about five times in turn. */
  rpcSlowMs: second,
  /** Failures in a row after which a node is left alone for a while; one or two are just a restart. */
  rpcBreakerFailures: 3,
  rpcBreakerFirstMs: second,
  /** A node that came back is noticed within two blocks. */
  rpcBreakerMostMs: 10 * second,
  /** Blocks that are fetched at once to catch up: hides the way to a far node, and holds a few megabytes. */
  rpcReadAheadBlocks: 16,
  /** The same in bytes of answers, for large blocks: as objects they take several times as much. */
  rpcReadAheadBytes: 16 * 1024 * 1024,
  /** Characters of a large answer that are parsed between two breaths of the event loop: about 3 ms. */
  rpcSliceChars: 256 * 1024,
  /** Events of a block that are read between two breaths of the event loop: about 5 ms. */
  rpcSliceEvents: 500,
  /** Bounds of the measured time between blocks, so that one odd header cannot put the watchdog to sleep. */
  rpcBlockTimeLeastMs: 50,
  rpcBlockTimeMostMs: 30 * second,
  /** Until two blocks were seen: that of the network. */
  rpcBlockTimeFirstMs: 6 * second,
  /** Block times without a new height after which another node is asked. */
  rpcStandStillBlocks: 3,
  /** Bounds of the pause between two looks at the head, which is a third of a block time. */
  rpcPollLeastMs: 20,
  rpcPollMostMs: 2 * second,
  /** Pauses before the same height is tried again after every node failed. */
  rpcRetryFirstMs: 250,
  rpcRetryMostMs: 5 * second,
  /** A block of which a node has told is waited for in silence this long: a full one takes seconds to run. */
  rpcNotYetMs: 10 * second,
  /** New blocks are seen within ten seconds of their time; tokens and certificates bear less than a minute of error. */
  rpcClockSkewMs: 30 * second,
  /** New blocks in a row that must say so before the local clock is doubted. */
  rpcClockSkewBlocks: 3,
  /** A block that all nodes should have and none gives is called lost after this: restarts are over then. */
  rpcGapPatienceMs: minute,
  /** A subscription that is silent this long is asked whether it still lives. */
  rpcWakePingMs: 10 * second,
  rpcWakeReconnectFirstMs: 500,
  rpcWakeReconnectMostMs: 30 * second,
  /** A header is under 2 KB. */
  rpcWakeMessageBytes: 1024 * 1024,
  /** Entries of a page: what the network's own provider asks for. */
  rpcPageEntries: 1_000,
  /** So much fewer are asked for where a page is larger than an answer may be: two tries, and the largest objects fit. */
  kubePageShrink: 10,
  /** Pages of a list: a million entries is a hundred times of what the network holds. */
  rpcPages: 1_000,
  /** Times that "not found" is asked of a height: a node may have thrown that state away before it is asked. */
  rpcProofTries: 4,
  /** Queries at once while the mirror is built or brought up to date. */
  rpcMirrorQueries: 8,
  /** Records of one kind that are read one by one; for more, the list is read instead. */
  rpcMirrorSingles: 32,
  /** Times that the mirror's lists are begun: if three nodes in a row fail half-way, it is not the nodes. */
  rpcMirrorTries: 3,
  /** Blocks behind the head from which on the mirror is built anew instead of being led through every one. */
  rpcMirrorLagBlocks: 50n,
  /** How often the mirror is compared with the chain's lists. */
  rpcMirrorRelistMs: 10 * minute,
  /** Ended leases and bids that are kept in view until the next comparison. */
  rpcMirrorEnded: 10_000,

  // Outbox
  /** Intents of one priority or above that are not settled: five blocks full of bids. Who wants more looks again later. */
  outboxIntents: 10_000,
  /** Messages in one transaction: a real node was seen to take 50, and one bad message spoils as many. */
  outboxTxMessages: 50,
  /** As many messages or more may go without a simulation; a node has run fewer of them in a moment. */
  outboxSparedMessages: 10,
  /** The dearest of so many batches that landed last says what a message of their kind costs. */
  outboxLandedBatches: 8,
  /** Gas of one transaction: fifty bids with room to spare, and a tenth of a second of a validator's time. */
  outboxTxGas: 25_000_000n,
  /** Of one transaction: a simulation sends it in hex, and a node takes requests of a million bytes. */
  outboxTxBytes: 480_000,
  /** Transactions under way at once: three thousand messages in a block. */
  outboxFlights: 64,
  /** Hashes of our transactions that are remembered: those of a day with one every ten seconds. */
  outboxHashes: 10_000,
  /** Calls to the node at once. */
  outboxAtOnce: 8,
  /** Intents wait this long for others to share their transaction; decisions about one block's orders take about as long. */
  outboxBatchMs: 50,
  /** How long a transaction may wait for its block: ten blocks. Then it is dead for sure and its intents go on. */
  outboxStampMs: minute,
  /** The same for transactions with a sequence, in blocks. */
  outboxTimeoutBlocks: 10,
  /** The chain refuses stamps more than ten minutes ahead of its own time; a minute less for nodes that lag. */
  outboxStampAheadMs: 9 * minute,
  /** A node's index follows its blocks, and behind one name there may be nodes that lag; so much later all are past it. */
  outboxProofBlocks: 5,
  /** A transaction that is not in a block by then is handed over again: the pool may have lost it. */
  outboxRebroadcastBlocks: 2,
  /** Times a message may fail without being named: enough to halve fifty down to one, and two more. */
  outboxFailures: 8,
  /** Blocks that we may be behind in following before nodes are asked for transactions: a block or two is usual. */
  outboxFollowBlocks: 3,
  /** Transactions in a row that nodes take and no block holds before that is a condition: one may be bad luck. */
  outboxSwallowed: 2,
  /** Times that the chain may say "not now" of a message, each wait twice as long as the one before: half an hour. */
  outboxDelays: 8,
  /** Of what the chain said about a message that failed: the beginning says it all. */
  outboxLogChars: 1_000,
  /** An empty wallet is looked at again so often. */
  outboxStalledMs: 30 * second,
  /** Without word of a block the outbox looks by itself, about once a block. */
  outboxPollMs: 6 * second,
  /** First pause when no node answers; it doubles up to outboxPollMs. */
  outboxSilenceFirstMs: 250,

  // Kubernetes
  /** One call: the slowest sound answers, pages of large objects, take a few seconds. */
  kubeCallMs: 30 * second,
  /** A call with all its tries, unless its caller says otherwise: a rolling restart of an API server is over by then. */
  kubeWholeCallMs: 2 * minute,
  /** An answer: 500 objects of 100 KB; most are a tenth of that. */
  kubeAnswerBytes: 64 * 1024 * 1024,
  /** What is kept of a refusal: a sentence or two, and of what was wrong the first few things. */
  kubeReasonChars: 2_000,
  kubeCauses: 20,
  /** Texts of warnings that are remembered, so that each is logged once: a cluster has a few dozen. */
  kubeWarnings: 256,
  /** Connections for calls; watches and what is passed on to pods have their own, so none waits for another. */
  kubeSockets: 16,
  /** For what is passed on to pods: a few per node of a large cluster that fell silent, and each is given up in time. */
  kubeProxySockets: 64,
  /**
   * An idle connection is let go before a load balancer, the strictest of which wait a minute, cuts it; and before a
   * watch that died with it is given up, whose list must not wait for an answer on a connection that is dead too.
   */
  kubeIdleMs: 30 * second,
  /** A peer that is gone without a word is noticed by the kernel so much later, and ten seconds of probes. */
  kubeKeepAliveMs: 15 * second,
  /** Tries of a call that may be repeated: a rolling restart of an API server is over within them. */
  kubeTries: 5,
  kubeRetryFirstMs: 250,
  /** An API server that came back is noticed this soon. */
  kubeRetryMostMs: 5 * second,
  /** The longest pause that the server may ask of us; flow control asks for seconds. */
  kubeRetryAfterMostMs: 30 * second,
  /** Objects of a page: what every other client asks for. They are taken one by one, so a page costs no memory. */
  kubePageObjects: 500,
  /** Pages of a list: a million objects are ten times what a cluster can hold. */
  kubePages: 2_000,
  /**
   * How long a watch is asked to last, at least and at most (random, so that watches do not end together). No watch may
   * be blind for a minute, and a server gives a sign of life, a bookmark, only once a minute and just before the end.
   */
  kubeWatchLeastMs: 25 * second,
  kubeWatchMostMs: 35 * second,
  /** A watch that is silent beyond its end is dead; with two tries to open the next one this stays within a minute. */
  kubeSilenceMs: 40 * second,
  /** A server accepts a watch at once, or after the three seconds that it may need to catch up. */
  kubeWatchOpenMs: 8 * second,
  /** A watch that ended sooner was no success, and is not taken up again without a pause. */
  kubeWatchWorthMs: second,
  /** Answers in a row that were failures; then the version is doubted, as after a cluster was restored from a backup. */
  kubeDoubts: 5,
  /**
   * How long a list and what was heard since are believed, give or take a fifth. A server that was restored and by now is past
   * our version looks as if nothing had happened; this bounds how long that can fool us.
   */
  kubeBelievedMs: hour,
  /** A kind that the server does not offer is looked for this often; until then whatever needs it waits, and says so. */
  kubeMissingKindMs: 20 * second,
  /** How long the server's word on a group is remembered: shorter than that, so that each look asks, yet once for all. */
  kubeServedGroupMs: 10 * second,
  /** A cache that was not confirmed for so long says so. A dead connection is noticed and made anew before. */
  kubeStaleMs: minute,
  /** One event: etcd takes objects of 1.5 MiB, of which the server writes "<", ">" and "&" as six characters each. */
  kubeEventBytes: 16 * 1024 * 1024,
  /** Events handed over between two breaths of the event loop. */
  kubeSliceEvents: 128,
  /** An event whose handler fails is handed over so often; then it is left to the next look at its key. */
  kubeHandlerTries: 3,
  /** A handler puts a key into a queue; one that waits for something must not make the cache old (kubeStaleMs). */
  kubeHandlerMs: 20 * second,
  /** How often the kubeconfig, tokens and certificates are looked at: what client-go does. */
  kubeIdentityMs: minute,
  /** A credential plugin may open a browser or ask a cloud. */
  kubePluginMs: minute,
  kubePluginBytes: 1024 * 1024,
  /** A token is renewed so long before it expires. */
  kubeTokenMarginMs: 30 * second,
  /** Objects whose last apply is remembered: 2,000 leases of ten objects. */
  kubeAppliedObjects: 20_000,
  /** From a definition of a custom resource to its first list: a server that is not overwhelmed takes a second. */
  kubeDefinitionMs: 30 * second,
  kubeDefinitionPollMs: 200,
  /** A log that is silent this long is asked for anew, in case its connection died without a word. */
  kubeLogSilenceMs: 2 * minute,
  /** A longer line of a log is cut into several: container runtimes cut at 16 KiB. */
  kubeLogLineBytes: 256 * 1024,
  /** Of an answer that is read line by line, at a time: some hundred lines, and twice as much is held for each of many slow readers. */
  kubePieceBytes: 8 * 1024,
  /** What Node takes from a connection at once. More would be held of each that is paused, and of what is longer than a piece. */
  kubeReadBytes: 8 * 1024,

  /** Events written a minute, by one process: a thousand nodes in trouble are told within twenty minutes. */
  eventsPerMinute: 60,
  /** Objects and reasons of which it is known that an Event tells of them; a kilobyte each. */
  eventsKept: 1_000,
  /** How soon an Event may be followed by another of the same object and reason, with other words. */
  eventRestMs: 5 * minute,
  /** How often an Event is told to go on. The API server forgets it after an hour. */
  eventRepeatMs: 10 * minute,

  // gRPC
  /** What a client takes unless it is told otherwise; a larger message is an error to it, whatever is in it. */
  grpcClientBytes: 4 * 1024 * 1024,
  /** A request is small, and whoever sends it has it ready. */
  grpcRequestMs: 10 * second,
  /** A client that does not answer a ping before the next one is gone. */
  grpcPingMs: 30 * second,
  /** A server in the same cluster greets within milliseconds; one that is starting is tried again anyway. */
  grpcConnectMs: 5 * second,
  /** A client takes what it asked for at once; one that keeps it waiting for so long has gone, or means to hold it. */
  grpcStalledMs: 30 * second,
  /** Keepalives are minutes apart; who measures the way pings once per round trip, while it is sent something. */
  grpcPings: { atOnce: 1_000, perS: 50 },
  /** Of what a status says to people, which travels as a header and may repeat what the client sent: a longer one ends its connection. */
  grpcStatusChars: 2_048,
  /** Clients are told that the server stops; one that does not listen is not waited for. */
  grpcStopMs: second,

  // Operators
  /** An operator that starts before its API server is there looks for it this often. */
  ownPodRetryMs: 2 * second,
  /** Streams of changes at once: a provider, its standby, and whoever looks on. */
  operatorStreams: 64,
  /** Connections to one of the two listeners. */
  operatorConnections: 256,
  /** Calls at once on one gRPC connection. */
  operatorCalls: 100,
  /** Requests are empty, or name a service. */
  operatorRequestBytes: 4_096,
  /** A request over HTTP is one line and a few headers. */
  operatorRequestMs: 5 * second,
  /** A connection on which nothing moves for so long is closed. */
  operatorIdleMs: 30 * second,
  /** Who leads is believed to live for so long after its last word, as other controllers of Kubernetes have it. */
  leaderDurationMs: 15 * second,
  /** Who leads says so this often; one word in three may be lost. */
  leaderRenewMs: 5 * second,
  /** Who could not say so for this long stops: well before another may begin, with time to end what is under way. */
  leaderGiveUpMs: 10 * second,
  /** Who waits looks this often whether nobody leads any more. */
  leaderLookMs: 2 * second,

  /**
   * Writes of one object within that time, after which it is left as somebody else wants it for as long: a lease that is
   * changed by a person or a script comes to one or two, and a rival that changes it back to one for each of ours.
   */
  contestedWrites: 10,
  contestedWithinMs: minute,

  // Hostname operator and the provider's feed of it
  /** Twice this long host names are told as they were last seen, though the cluster is seen no more: longer than a new connection takes. */
  hostnameSightMs: 15 * second,

  // Inventory operator
  /** Hardware changes with a reboot or a screwdriver, but a card can fall off the bus at any moment. */
  discoveryPeriodMs: minute,
  /** First pause between two discovery pods of a node: one that was evicted or ended by hand may be back soon. */
  discoveryRemakeFirstMs: 10 * second,
  /** Longest one: what is known of a full node stays, so there is no hurry, and a dozen pods an hour are no burden. */
  discoveryRemakeMostMs: 5 * minute,
  /** A pod that lasted so long was well; longer than any pause, or one that is turned away would count as well. */
  discoveryLastedMs: 10 * minute,
  /** Nodes whose discovery pod is replaced by another version's at once: a thousand take minutes, and a bad one stops here. */
  discoveryReplacedAtOnce: 5,
  /** A successor that has not answered by then no longer holds up the others: some nodes never let one run. */
  discoveryReplaceMs: 5 * minute,
  /** The first picture waits so long for the discovery pods that are there: a thousand answer in a few seconds. */
  discoveryFirstMs: 10 * second,
  /** Events of this long become one picture: far below the 200 ms in which one has to be published. */
  inventoryGatherMs: 20,
  /** Counting ten thousand pods anew takes milliseconds; a drift should not live for long. */
  inventoryRecountMs: 5 * minute,
  /** A condition that is there at two looks running is worth an Event; at a start many come and go. */
  inventoryConditionLookMs: 30 * second,
  /** How soon a picture shows that it may be out of date. */
  inventoryStaleLookMs: 5 * second,
  /** Listeners are told no more often: with inventoryGatherMs well below 200 ms, and a fifth of a core for 1,000 nodes. */
  inventoryPublishMs: 100,
  /** The metrics API itself measures every 15 s or slower. */
  inventoryUsagePeriodMs: 30 * second,
  /** One file of /sys or /proc: the longest that we read, but for cpuinfo, are a few hundred bytes. */
  discoveryFileBytes: 64 * 1024,
  /** /proc/cpuinfo has under 2 KB per processor, and Linux takes 8,192 of them. */
  discoveryCpuinfoBytes: 16 * 1024 * 1024,
  /** Entries of one folder, for instance one for each processor. */
  discoveryEntries: 10_000,
  /** A name that a device gives itself; they are a few words. */
  discoveryNameChars: 128,
  /** Parts of one kind: a machine has a few sockets and tens of cards, disks and ports, and a virtual one may show each processor as a socket. */
  discoveryParts: 256,
  /** A feature that a processor says it has is a short word, and there are about 200 of them. */
  discoveryFeatures: 1_024,
  /** An answer of a discovery pod: as many parts with as long names as may be; the usual one is a few kilobytes. */
  discoveryAnswerBytes: 4 * 1024 * 1024,
  /** A fault names a file and what is wrong with it. */
  discoveryProblemChars: 512,
  /** Faults that are told: a broken tree has one for each file, and the first ones say it all. */
  discoveryProblems: 50,
  /** Files that are read at once: Node has four threads for them. */
  discoveryAtOnce: 8,
  /** Reading everything takes milliseconds; if a driver hangs, whoever asks hears so before he gives up. */
  discoveryAnswerMs: 4 * second,
  /** How old an answer may be, so that many askers cost no more than one. */
  discoveryFreshMs: second,
  /** A request is a line, and the askers are on the same network. */
  discoveryRequestMs: 5 * second,
  /** Connections at once: one operator, a probe, and a person with curl. */
  discoveryConnections: 64,
  /** A GPU registry: a hundred times the network's. */
  registryBytes: 1024 * 1024,
  /** Its answer comes from a small static server. */
  registryAnswerMs: 10 * second,
  /** How often a registry file is looked at, so that an edit is seen at once. */
  registryFileMs: 5 * second,
  /** First pause after a registry could not be read; it grows up to the period. */
  registryRetryFirstMs: 5 * second,
  /** Faults of a registry that are told; they are made by hand, one at a time. */
  registryProblems: 20,

  /** A pattern of node names; nobody can read a longer one. */
  inventoryPatternChars: 256,
  /** How often Ceph is asked how full it is: about as often as Rook itself looks. */
  inventoryCephLookMs: minute,
  /** The least pause between two looks at Ceph, however many volumes come and go. */
  inventoryCephPauseMs: 5 * second,
  /** An answer of Ceph takes a second; its monitors may be electing for some. */
  inventoryCephAnswerMs: 20 * second,
  /** A pool is under 500 bytes of it; clusters have tens of pools. */
  inventoryCephAnswerBytes: 1024 * 1024,

  /** Pods named in the evidence of an overbooked node: the largest ones explain it. */
  inventoryPodsTold: 3,
  /** Nodes whose labels are written at once: a thousand nodes at start must not hold up the other calls. */
  inventoryLabelWrites: 4,
  /** A workload that is restarted or moved has its next pod well within this. */
  inventoryGtKeptMs: 10 * minute,

  // What the hostname operator tells the provider
  /** Host names that are known of: ten times what a large provider serves. */
  hostnamesKnown: 50_000,
  /** One message of its stream: a few hundred names with what is wrong with each. */
  hostnameStateBytes: 8 * 1024 * 1024,
  /** Longest pause before it is looked for again: it may not be installed at all, and nothing waits for it. */
  hostnameRetryMostMs: minute,

  // Inventory feed
  /** A picture: 1,000 nodes with eight cards each are about 1 MB, so ten of the largest clusters there are. */
  feedPictureBytes: 32 * 1024 * 1024,
  /** A stream is silent while nothing changes; so often it is asked for whether anybody is there. */
  feedProofMs: minute,
  /** An operator that has just started says soon what it waits for. */
  feedFirstMs: 5 * second,
  /** How long its answer may take: a large picture over a slow wire. */
  feedAnswerMs: 15 * second,
  /** What was last known to be so longer ago promises nothing: two proofs have failed. */
  feedOldMs: 2 * minute,
  /** First pause before the operator is looked for again; a restart of it takes a few seconds. */
  feedRetryFirstMs: 500,
  /** Longest one, so that several tries lie within the time that the last picture still counts. */
  feedRetryMostMs: 10 * second,
  /** Conditions of a picture that are told: one foreign version of the operator gives as many as there are nodes. */
  feedConditions: 20,

  // Leases
  /** Looks at leases under way at once: what waits for the API server leaves room for others, and does not flood it. */
  leaseRuns: 16,
  /** Objects of one step of one lease that are written at once: they do not need each other. */
  leaseWrites: 4,
  /** Tries to move the fields of an object that somebody else writes to as well, each after a new look at it. */
  adoptTries: 4,
  /** Leases that the chain is asked about at once when taking over is rehearsed: a node answers hundreds a second. */
  rehearsalQueries: 8,
  /** Until the cluster has told all that it has of leases; thousands of them take seconds. */
  rehearsalPatienceMs: minute,
  rehearsalLookMs: 50,
  /** How often a lease is looked at that nothing has happened to. It asks nobody for anything. */
  leaseRecheckMs: 10 * minute,
  /** How long a new manifest waits for its leased addresses, so that containers start with them in their environment: MetalLB gives one within a second or two. */
  leaseAddressWaitMs: 20 * second,
  /** What one lease does not have, or has and should not, that is told: enough to see what is wrong. */
  leaseMissingTold: 20,
  /** Conditions of leases that are told: the first ones say what is wrong with the others too. */
  leaseConditions: 50,
  /** Troubles of one lease that a condition names; `akash-provider leases` has them all. */
  leaseTroublesTold: 3,
  /** Between tries of what the cluster would not take: a lease that is over is gone within a minute of its healing. */
  leasePauseMostMs: 30 * second,
  /** How often it is looked whether the cluster may be relied on again: all leases wait for that. */
  leaseTroubleLookMs: second,
  /** While its namespace goes away, of which the cache tells: only for the words about what holds it. */
  leaseGoingRecheckMs: 15 * second,
  /** A namespace whose pods stop in their usual 30 seconds is gone by then; what holds it longer is told. */
  leaseHeldMs: minute,
  /** Whoever asks for leases waits no longer than this for what they use: it is shown beside, the rest is what was asked for. */
  usageAnswerMs: 2 * second,
  /** The metrics API measures every 15 seconds or less often: within this, who asks again gets the same answer. */
  usageKeptMs: 5 * second,

  // Health of leases
  /** Of a tenant's own names in a message: an image with its registry and digest is shorter. */
  healthNameChars: 200,
  /** Most images are there and started within this; what takes longer is told in other words. */
  healthStartingMs: 5 * minute,
  /** How long ago something may have ended that explains why its successor is not ready. */
  healthEndedToldMs: hour,
  /** How often a lease that is not well is looked at, event or not, and its time added up. */
  healthLookMs: 5 * second,
  /** How often that time is written down: a crash loses no more of it. */
  healthSaveMs: 15 * second,
  /** Two looks at a lease that are further apart than this: we slept, and what was between them was not seen. */
  healthGapMs: 30 * second,
  /** A lease is closed no sooner after a cluster is known to take writes again: by then kubelets have told how things are. */
  healthConfirmMs: 30 * second,
  /** What is further behind may not show yet that a lease is over, or a tenant's newest word. */
  healthMirrorMs: minute,

  // Reconcile
  /** How often chain, cluster and journal are compared as a whole: events tell of changes at once, this finds what none told. */
  reconcileEveryMs: 5 * minute,
  /** Until the server has listed all: a command waits for it, and what does not answer now is asked again in minutes. */
  reconcileListMs: 30 * second,
  /** From the first look to the second, where something differs: a write, an event or a block that is under way has come by then. */
  reconcileConfirmMs: 15 * second,
  /** A lease, its manifest or its end may be so young that its loop is still at work on it: images are pulled, pods stop. */
  reconcileUnderWayMs: 2 * minute,
  /** A namespace that is being deleted for longer is held by something: pods of a minute's grace are gone by then. */
  reconcileStuckMs: 5 * minute,
  /** Drift that was found in a report and is in one so much later did not heal by itself: a person should know. */
  reconcileHealMs: 6 * minute,
  /** Objects of a list that are read between two breaths of the event loop: a few milliseconds. */
  reconcileSlice: 200,
  /** Leases that do not run and of which something is left, asked about in one look: each is a query to the chain. */
  reconcileAsks: 200,
  /** What holds a namespace, in the words of the server: the beginning says it. */
  reconcileEvidenceChars: 300,
  /** Drifts that one report names; all are counted. */
  reconcileNamed: 1_000,
  /** Conditions that name a drift; one more says how many there are. */
  reconcileConditions: 20,
  /** Lines for the history, and for the log, from one report: if all leases drift at once, a hundred say so. */
  reconcileLines: 100,

  // Leased addresses
  /** Pause after the IP operator has answered: it counts anew as often itself. */
  addressesPollMs: 5 * second,
  /** One answer of it: it has them prepared, or asks the API server for a few Services. */
  addressesAnswerMs: 5 * second,
  /** The longest one: a lease with hundreds of ports. */
  addressesAnswerBytes: 1024 * 1024,
  /** What was told longer ago promises nothing. */
  addressesOldMs: 2 * minute,
  /** Leases that are asked about at once; each is a question to the API server for the operator. */
  addressesLeasesAtOnce: 4,
  /** How long what nothing asks for may take to go before a person is told, as the network documents it. */
  addressCleanUpMs: 5 * minute,
  /** How often all of it is counted anew, whatever was heard. */
  addressUsageMs: minute,
  /** MetalLB's page of metrics, and how long it may take: a few lines for each pool beside those of its runtime. */
  metalLbMetricsBytes: 4 * 1024 * 1024,
  metalLbMetricsMs: 10 * second,

  // Simulated cluster
  /** Changes that a watch or a page may be behind: a few seconds of the busiest cluster we simulate. */
  simulatedHistory: 4_096,
  /** What one watch may have waiting; a reader that is further behind is cut off, as by a real server. */
  simulatedWatchBytes: 64 * 1024 * 1024,
  /** A watch that does not say how long it wants to last: the least that a real server grants. */
  simulatedWatchMs: 30 * minute,
  /** How often a quiet watch is told the version, as a real server does. */
  simulatedBookmarkMs: minute,
  /** And once more so long before its end. */
  simulatedLastBookmarkMs: 2 * second,
  /** Events that are kept: those of the last few hundred pods; a real cluster keeps an hour of them. */
  simulatedEvents: 2_000,
  simulatedEventMs: hour,
  /** Lines of a container that can be read: a node keeps 10 MiB of them. */
  simulatedLogLines: 10_000,

  // Embedded chain
  /** What the network's consensus parameters say; also part of every block's hash. */
  chainBlockBytes: 22_020_096,
  /** No limit, as on the network. */
  chainBlockGas: -1,
  /** Blocks in memory: over five hours of 1 s blocks, under 2 KB each while nothing happens. */
  chainBlocksKept: 20_000,
  /** The same in bytes, for busy blocks: about 10,000 transactions with their events. */
  chainBlocksBytes: 64 * 1024 * 1024,
  /** Old states of the embedded chain that queries can name: enough to read a long list at one height. */
  chainStatesKept: 300,
  /** Some 20 MB of replaced records; a chain with thousands of bids per block is remembered for fewer heights. */
  chainStateKeysKept: 50_000,
  /** After its block, until a transaction can be found: a real node indexes when it has told of the block. */
  chainIndexMs: 20,
  /** Recorded blocks replayed between two breaths of the event loop at start. */
  chainReplaySliceBlocks: 256,
  /** CometBFT's own bounds on waiting transactions, except that we keep three full blocks of them, not a gigabyte. */
  chainMempoolTxs: 5_000,
  chainMempoolBytes: 3 * 22_020_096,
  chainTxBytes: 1024 * 1024,
  chainSeenTxs: 10_000,
  /** CometBFT's own bounds on requests and clients; a client that fits a real node fits this one. */
  chainRequestBytes: 1_000_000,
  chainBatchRequests: 10,
  chainConnections: 900,
  chainQueryChars: 512,
  chainSubscribers: 100,
  chainSubscriptionsPerClient: 5,
  /** Events that may wait for one slow client; then its subscription ends. */
  chainSubscriberMessages: 200,
  /** The same in bytes, since a busy block is a megabyte of events. */
  chainSubscriberBytes: 64 * 1024 * 1024,
  /** A client that takes nothing for this long is gone, and so is one whose request takes longer to arrive. */
  chainWriteMs: 10 * second,
  /** A client that does not answer a ping before the next one is gone. */
  chainPingMs: 27 * second,
  /** broadcast_tx_commit waits this long for the block. */
  chainCommitWaitMs: 10 * second,
  /** An idle HTTP connection is closed; clients are told so in advance. */
  chainIdleMs: 10 * second,
  /** The largest request that the SDK's gRPC server takes. */
  chainGrpcRequestBytes: 10 * 1024 * 1024,
  /** Calls at once on one gRPC connection; clients queue the rest. */
  chainGrpcStreams: 100,
  /** Signatures known to hold: as many as may wait in the pool and a few blocks more, at 200 bytes each. */
  chainVerifiedSignatures: 10_000,

  // Logs
  /** A log line is for people: longer strings are cut. */
  logStringChars: 4_096,
  /** A field name longer than this is data in the wrong place. */
  logNameChars: 256,
  /** Deep enough for a Kubernetes pod's container environment, the deepest thing anybody reads in a log. */
  logDepth: 8,
  /** Entries shown of one list or object; the rest is counted. */
  logEntries: 100,
  /** One whole line, roughly: container runtimes cut lines at 16 KiB, collectors at 64. */
  logLineChars: 65_536,
  /** Read beyond a cut, so that a secret that crosses it is still seen whole: the largest RSA key is 3 KiB. */
  logSlackChars: 8_192,
  /** Lines that wait for a slow reader; then lines are dropped and counted. */
  logBufferedBytes: 8 * 1024 * 1024,
  /** Secrets known by value: keys, passwords and tokens of one provider are a few dozen. */
  redactorSecrets: 200,
  /** Shorter secrets would mask ordinary words and so give themselves away. */
  redactorSecretLeastChars: 6,
  /** The longest secret is an RSA key in PEM. */
  redactorSecretMostChars: 8_192,

  // Decisions
  /** Changes are told by blocks; this is for what none has told, such as the network's vote on parameters. */
  ownEntryEveryMs: 10 * minute,
  /** Of what one auditor has signed: ten times what anybody publishes, and anybody may sign anything about us. */
  auditorAttributes: 500,
  /** Until it has been read nothing is bid on, so the first tries come quickly. */
  ownEntryRetryFirstMs: second,
  ownEntryRetryMostMs: minute,
  /** What is further behind shows orders that are gone already, and coins that are spent. */
  bidMirrorBlocksBehind: 5,
  /** The network's operator tells every few seconds; a cluster may have changed a lot in more than this. */
  bidPictureAgeMs: 2 * minute,
  /** The network's limit of volumes of one unit. */
  unitVolumes: 4,
  /** Of one name in a sentence: attributes and addresses are shorter. */
  decisionWordChars: 80,
  /** Things that one sentence names: nobody reads more. */
  decisionListed: 5,
  /** Faults that one sentence names, and how long each may be. */
  decisionSentences: 3,
  decisionSentenceChars: 180,
  /** Of one sentence, also where somebody else wrote it: a script, an operator who paused. */
  decisionReasonChars: 600,
  /** Evidence of one check in the journal, which keeps half a million decisions of twenty checks. */
  decisionEvidenceChars: 2_000,

  // Host names
  /** How long a name is kept for whom it was allowed: a manifest reaches the cluster in seconds, or waits for more than us. */
  hostAllowedMs: minute,

  // Control socket
  /** An operator's commands at once, those that follow included; a script that asks in a loop still leaves room. */
  controlConnections: 32,
  /** A question is small but for an SDL, of which no more than 256 KiB are read; JSON may double it. */
  controlQuestionBytes: 1024 * 1024,
  /** Whoever asks is on this machine and has the question ready. */
  controlQuestionMs: 5 * second,
  /** A reader that takes nothing for this long is gone, or was stopped with Ctrl-Z. */
  controlWriteMs: 10 * second,
  /** How long a command waits for the beginning of an answer: a price script may take its time, and others wait before it. */
  controlAnswerMs: 2 * minute,
  /** Values of a stream between two breaths of the event loop, each with up to half a millisecond behind it. */
  controlSliceValues: 32,
  /** One line of an answer: a decision with all of its evidence is under 100 KB. */
  controlLineBytes: 16 * 1024 * 1024,
  /** Those who follow are told that the provider stops; who does not listen is not waited for. */
  controlStopMs: second,

  // Gateway
  /** From the first packet to the end of the handshake: a slow phone takes one. */
  gatewayHandshakeMs: 5 * second,
  /** A greeting with every extension there is has some 3 KB. */
  gatewayHelloBytes: 16 * 1024,
  /** As the network's own gateway gives for headers. */
  gatewayHeaderMs: 3 * second,
  /** Until all of a request has come: the largest manifest over a slow line. */
  gatewayRequestMs: 60 * second,
  /** The network's own gateway gives a manifest two minutes; nothing else takes a tenth of it. */
  gatewayAnswerMs: 120 * second,
  /** A connection without a request: longer than Console's pause between two looks. */
  gatewayIdleMs: 120 * second,
  /** A client that takes nothing of its answer for so long has gone. */
  gatewayStalledMs: 30 * second,
  /** Between two looks at connections: how much later than allowed a slow one ends. */
  gatewayLookMs: second / 2,
  /** Requests of one connection that have no answer yet. No client that we know sends a second before the first is answered. */
  gatewayPipelined: 16,
  /** Of a body that nobody reads: less is read and thrown away, so that the connection can stay. */
  gatewayUnreadBytes: 256 * 1024,
  /** Ten blocks. What is further behind is told of as not fresh, whatever nodes say. */
  gatewayChainOldMs: minute,
  /** The API server's version is asked for again when somebody wants to know it: it changes by an upgrade. */
  gatewayVersionAgeMs: 60 * second,
  gatewayVersionMs: 3 * second,
  /** How long a refusal has to arrive before the connection is cut. */
  gatewayFarewellMs: second / 2,
  /** What runs when we stop may still finish; a manifest that is on its way into the journal takes milliseconds. */
  gatewayDrainMs: 5 * second,
  /** Questions to the chain about people who are not known, at once: nodes are there for the blocks first. */
  gatewayLookups: 16,
  /** How many of these one place may have, so that there is always a turn for another. */
  gatewayLookupsOfPlaceAtOnce: 8,
  /** How many more of one place wait; a proxy in front of many tenants is one place too. */
  gatewayLookupsOfPlace: 64,
  /** Of all places: a kilobyte each. */
  gatewayLookupsWaiting: 4_096,
  /** A node answers in a tenth of this, and clients give up later. Who waits in line waits no longer either. */
  gatewayLookupMs: 5 * second,
  /** Every question keeps its turn at least so long: 40 in a second of one place, 80 of all. */
  gatewayLookupTurnMs: 200,
  /** Keys, certificates and what is missing, of people without a lease: a few hundred bytes each. */
  gatewayStrangers: 4_096,
  /** That an account has no key or certificate is believed for a block: then it may have. */
  gatewayMissingMs: 6 * second,
  /** A certificate in use is asked for again now and then, beside the requests, whatever blocks have told. */
  gatewayCertificateMs: 10 * minute,
  /** After the chain did not answer, what it said before counts this long before it is asked again. */
  gatewaySilenceMs: 10 * second,
  /** Tries and the pause between them: a node tells of a block shortly before its state can be read. */
  gatewayLookupTries: 4,
  gatewayLookupPauseMs: 250,
  /** Valid certificates of one tenant that are kept: one for each of his machines. */
  gatewayCertificatesOfOwner: 64,
  /** Those who have leases are asked for so many at once: after a start that may be thousands. */
  gatewayOwnersAtOnce: 4,
  /** How often it is asked whether a tenant has a key by now, who had a lease before he ever signed. */
  gatewayKeylessMs: 10 * minute,
  /** A serial number of a certificate has at most 20 bytes. */
  gatewaySerialBits: 160,
  /** Host names or endpoints that one request moves: a manifest names no more. */
  migrationNames: 1_000,
  /** As many names of 253 characters, each with its quotes, and some room. */
  migrationBytes: 512 * 1024,
  /** Requests of one owner that wait for each other, so that what one moves back and forth keeps no other waiting. */
  migrationsWaiting: 8,
  /** A thousand writes of 10 ms each; an API server that takes longer is away, and goes on with it when it is back. */
  migrationMs: 15 * second,
  /** What a tenant's command waits for, until a provider far away has said hello. */
  clientHandshakeMs: 15_000,
  /** A provider may take two minutes to take a manifest; more is for the way. */
  clientAnswerMs: 150_000,
  /** Of a provider's answer to a command: the status of one with thousands of nodes has a tenth of it. */
  clientAnswerBytes: 16 * 2 ** 20,
  /** Of what a provider says to a refusal: all that a person reads. */
  clientErrorChars: 4_096,
  /** Of one frame of a stream: a line of a log, and nobody reads a longer one. */
  clientFrameBytes: 16 * 2 ** 20,
  /** A provider that was not heard for so long is gone: four of its pings are missing. */
  clientSilenceMs: 45 * second,
  /** Up to here, encoding a text costs less than sending it in two pieces does. */
  gatewaySmallChars: 8_192,
  /** For so long the bytes of `/status` are shown: a change is to be seen within a second, and making them takes a millisecond or two. */
  gatewayStatusMs: 250,
  /** The body of a group that is tried out: a thousand attributes of a hundred characters, and more than all that anybody means. */
  screeningBytes: 256 * 1024,
  screeningHosts: 100,
  /** Of all lists in a group over gRPC; of what is larger nothing is read. */
  screeningItems: 20_000,
  /** A person tries a few variants, a console asks for each of its users: a minute's worth at once. */
  screeningPerAccount: { atOnce: 20, perMinute: 20, remembered: 10_000 },
  /** A decision takes a millisecond or two, or a process where a script has the prices: this leaves the rest for orders. */
  screeningInAll: { atOnce: 100, perMinute: 600, remembered: 1 },
  /** Pricing scripts of screenings that run at a time; orders have thirty. */
  screeningsAtOnce: 2,
  screeningsWaiting: 50,
  /** Orders come first for so long; then who asked is sent away. */
  screeningPatienceMs: 10_000,
  screeningLookMs: 50,
  /** A token for ten deployments has 2,000; this many deployments more than anybody names one by one. */
  tokenChars: 16_384,
  /** Of what a token says: three levels of lists and objects, and the list of services. Others that it says may be deeper. */
  tokenJsonDepth: 32,
  tokenJsonValues: 4_096,
  /** How far a tenant's clock may be ahead of ours; machines without NTP are seconds off. A token's end is not put off. */
  tokenClockSkewMs: 10_000,
  /** Tools make one per request, which is asked for once; consoles keep theirs for minutes. Some 1 KB each. */
  verifiedTokens: 4_096,
  /** Of all tokens that are remembered together: one with a long list of deployments takes several times its length. */
  verifiedTokenChars: 2_097_152,
  /** Signatures that are checked at once, by threads that files need too. Each takes 0.4 ms, which anybody can make us spend. */
  tokenSignatureChecks: 2,
  /** One or two per tenant who is connected now. Some 2 KB each. */
  readCertificates: 1_024,
  /** What the network's tools give theirs, too. */
  certificateLifeMs: 365 * day,
  /** Renewed when this share of its life is left: four months for whatever is in the way, an empty wallet for instance … */
  certificateRenewShare: 1 / 3,
  /** … and of one that was given a short life, a week. */
  certificateRenewLeastMs: 7 * day,
  /** It begins before it is made, for clients whose clock is behind. */
  certificateBackdateMs: 10 * minute,
  /** By how much our clock and block time may differ before no certificate is made or dropped: more than any block is late. */
  certificateClockMs: hour,
  /** Of ours at once: the one that is served, those before it until they end, and the one that is to be. */
  certificatesKept: 4,
  /** How often the chain is asked although no block told that anything of ours has changed. */
  certificateLookMs: 6 * hour,
  /** Longest pause while it cannot be asked, and before the chain is offered again what it did not take. */
  certificateRetryMs: minute,

  // gRPC
  /** At once on one connection over gRPC; clients queue the rest. Consoles have some dozens. */
  gatewayGrpcCalls: 256,
  /** Calls with many answers, of everybody together. */
  gatewayGrpcStreams: 2_048,
  /** Of them, those from one place: a console that follows all of its providers has one of each. */
  gatewayGrpcStreamsOfPlace: 256,
  /** So many one place has also while others have all of them: status and logs of a lease, and the provider's status. */
  gatewayGrpcStreamsAssured: 4,
  /** How often it is looked whether a status has changed, ours or a lease's, while somebody follows it. */
  followedStatusMs: second,
  /** What the network's gateway takes, and Go clients expect to be taken. */
  gatewayGrpcRequestBytes: 4 * 2 ** 20,
  /** Of all lists in a manifest over gRPC: its JSON may have 50,000 values. */
  manifestItems: 50_000,
  /** Services that one call names; who means more names none. */
  leaseServicesNamed: 1_000,
  /** Of logs in one answer: Go clients take 4 MB. */
  leaseLogsBytes: 3 * 2 ** 20,
  /** Of each container there, or gigabytes would be read for them. */
  leaseLogsLines: 20_000,
  /** Of logs in one message of a stream. */
  leaseLogsMessageBytes: 2 ** 20,

  // Streams
  /**
   * Logs, events and shells at once, fewer than there are connections. Each costs up to 280 KB with its TLS, what waits for its
   * reader and its way into the cluster.
   */
  streams: 768,
  /** Of one tenant: a console that shows the logs of each of his services in a tab of its own. */
  streamsOfTenant: 128,
  /** The network's CLI leaves who has not pinged it for 15 s. */
  streamPingMs: 10 * second,
  /** And who has left while a command takes none of his input is known to be gone after two of these. */
  streamBeatMs: second,
  /** Of frames that are written together: a TLS record, and what waits for each of many slow readers, twice with its encryption. */
  streamPieceBytes: 16 * 1024,
  /**
   * A client to which nothing could be written for so long is cut off, and so is one that has not read a stream's end by then. It
   * may read all the time: the kernel takes more when a third of its buffer is free, of up to 4 MB. This long, it is one with less
   * than 3 KB/s. What waits for it meanwhile is little; until the end it counts among its tenant's streams.
   */
  streamStalledMs: 10 * minute,
  /** From the end of a stream's rights to its close frame; and from there to the end of our half of its connection. */
  streamFarewellMs: second,
  /** Of what a tenant sends to a shell, in one frame: tools send 4 KB, a browser what somebody pastes. */
  streamFrameBytes: 2 ** 20,
  /** How often the end of long-lived credentials is looked for: a timer has 24 days at most, and wall clocks are set. */
  streamExpiryLookMs: hour,
  /** Events that a reader of a lease's has not taken yet: more than the whole history of most leases. */
  eventsWaiting: 1_000,
  /** Of these to one reader before others have their turn: about a millisecond. */
  eventsToldAtOnce: 64,
  /** Of a command's output in one frame. Nodes send up to 32 KB at a time, which waits for a slow reader in halves. */
  shellFrameBytes: 16 * 1024,
  /** What the shell of a container tells of a process before it becomes the command: a number. */
  shellWordChars: 32,
  /** A command whose tenant has left may tidy up for so long. */
  shellHangUpMs: second,
  /** Commands left behind that are ended at once; each takes the time above and next to nothing else. */
  shellEndsAtOnce: 16,
  /** For so long it is tried to end one, with pauses between: an API server that restarts is back by then. */
  shellEndMs: 10 * minute,
  shellEndPauseMs: second,
  shellEndPauseMostMs: 30 * second,
  /** How long our own end waits for theirs. */
  shellCloseMs: 10 * second,

  // ACME
  /** Of an authority to one request; those that make us wait longer are asked again. */
  acmeAnswerMs: 30 * second,
  /** A chain of certificates has 10 KB. */
  acmeAnswerBytes: 256 * 1024,
  /** Of what an authority says is wrong. */
  acmeReasonChars: 400,
  /** Of all that is kept of a failure, with the address that it was at, which an authority makes up too. */
  acmeTroubleChars: 1_200,
  /** From an order to its certificate: the authority asks us within seconds, and again for a while. */
  acmeOrderMs: 10 * minute,
  /** Failures in a row until an order is left for another: two hours, in which an authority that was away may be back. */
  acmeOrderTries: 8,
  /** How often an order is looked at, at first and later: validation takes seconds. */
  acmePollFirstMs: second,
  acmePollMostMs: 15 * second,
  /** Between attempts, at first … */
  acmePauseFirstMs: minute,
  /** … and at most, also where the authority names a time: then a person may have put it right long ago. */
  acmePauseMostMs: 6 * hour,
  /** After a start, of what failed before it: authorities allow a failure of a name every twelve minutes. */
  acmeRestartPauseMs: 12 * minute,
  /** Of the authority and of whoever else comes by while a challenge is answered. */
  acmeConnections: 64,
  /** For one question of the authority. */
  acmeChallengeMs: 10 * second,
  /** What a crash left half written is taken away when it is older than any write lasts. */
  acmeLeftoverMs: hour,
  /** How far our clock may be behind that of who made a certificate for us; authorities date theirs back by an hour besides. */
  certificateSkewMs: 10 * minute,

  // Metrics
  /** A few Prometheus servers, and a person with a browser. */
  metricsConnections: 64,
  /** Series of one metric; every label here is a short list of ours, so more means somebody put an id into a label. */
  metricSeries: 200,
  /** A longer label value is not a name of ours, and keys, tokens and phrases are longer. */
  metricLabelChars: 48,
  /** Series of one metric about nodes: 1,000 nodes with eight amounts each, and room for some more. */
  metricClusterSeries: 10_000,
  /** The longest name that Kubernetes lets a node or a storage class have. */
  metricClusterNameChars: 253,
} as const;
