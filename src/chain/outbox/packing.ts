/** Which of the waiting intents travel together. Pure, so that its rules can be tested as rules. */
import type { Intent } from "../../journal/intents.ts";

export interface PackingRules {
  readonly mostMessages: number;
  readonly mostGas: bigint;
  readonly room: number;
  /** About what its message needs; 0 for one not seen yet. */
  gasOf(intent: Intent): bigint;
  alone(intent: Intent): boolean;
  readonly busy: ReadonlySet<string>;
  /** Whether its message costs more than the fee, and how many transactions may hold such ones now. */
  costly(intent: Intent): boolean;
  readonly costlyRoom: number;
  /** Whether it must be in a block so soon that no other should be bound to it. */
  hurried(intent: Intent): boolean;
  /** The escrow account that its message settles, and whether it withdraws from it. */
  accountOf(intent: Intent): string | undefined;
  withdraws(intent: Intent): boolean;
  readonly settling: ReadonlySet<string>;
}

/** Groups of intents, the most urgent first; within one, by age, which is the order of their messages. */
export function pack(waiting: readonly Intent[], rules: PackingRules): Intent[][] {
  const open: Group[] = [];
  const full: Group[] = [];
  const settling = new Set(rules.settling);
  let costlyRoom = rules.costlyRoom;
  for (const intent of firstOfEachSubject(waiting, rules.busy)) {
    const most = rules.alone(intent) ? 1 : largestGroup(intent, rules.mostMessages);
    const gas = rules.gasOf(intent);
    const hurried = rules.hurried(intent);
    const costly = rules.costly(intent);
    const account = rules.accountOf(intent);
    // One withdrawal from an account in a block, and none beside anything else that settles it.
    if (account !== undefined && rules.withdraws(intent) && settling.has(account)) continue;
    const takes = (group: Group) =>
      group.intents.length < Math.min(group.most, most) &&
      group.gas + gas <= rules.mostGas &&
      group.hurried === hurried &&
      (!costly || group.costly || costlyRoom > 0);
    let group = open.find(takes);
    if (!group) {
      if (open.length + full.length >= rules.room || (costly && costlyRoom <= 0)) continue;
      group = { intents: [], gas: 0n, most, hurried, costly: false };
      open.push(group);
    }
    if (costly && !group.costly) costlyRoom -= 1;
    if (account !== undefined) settling.add(account);
    group.intents.push(intent);
    group.gas += gas;
    group.most = Math.min(group.most, most);
    group.costly ||= costly;
    if (group.intents.length >= group.most) full.push(...open.splice(open.indexOf(group), 1));
  }
  return [...full, ...open].map(({ intents }) => intents.sort((a, b) => a.id - b.id));
}

interface Group {
  readonly intents: Intent[];
  readonly hurried: boolean;
  gas: bigint;
  most: number;
  costly: boolean;
}

/** Each failure that it may have caused halves its group, until the guilty one stands alone. */
export function largestGroup({ failures = 0 }: Pick<Intent, "failures">, mostMessages: number): number {
  return Math.max(1, Math.floor(mostMessages / 2 ** failures));
}

/** Only the oldest intent per subject may leave, as urgent as the most urgent behind it: no bid is closed before it is made. */
function firstOfEachSubject(waiting: readonly Intent[], busy: ReadonlySet<string>): Intent[] {
  const first = new Map<string, Intent>();
  const urgency = new Map<string, number>();
  for (const intent of waiting) {
    const { subject, priority } = intent;
    if (busy.has(subject)) continue;
    const known = first.get(subject);
    if (!known || intent.id < known.id) first.set(subject, intent);
    urgency.set(subject, Math.min(urgency.get(subject) ?? priority, priority));
  }
  const urgencyOf = ({ subject, priority }: Intent) => urgency.get(subject) ?? priority;
  return [...first.values()].sort((a, b) => urgencyOf(a) - urgencyOf(b) || a.id - b.id);
}
