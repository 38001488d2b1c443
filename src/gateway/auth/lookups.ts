/**
 * Questions to the chain about people whom nobody here knows. Anybody can make us ask, with a token that he made up, so turns are
 * dealt out: so many questions at once, of which no place has all; places take turns; and every question keeps its turn for
 * a while, so that a flood of them does not become one at the nodes. Who asks for the same thing gets the same answer, by
 * whichever place's turn comes first. Nobody waits for longer than a question may take.
 */
import { isOfChain } from "../../chain/chain-failure.ts";
import { type Clock, sleep, type Timer } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";

/** Questions to the chain about people who are not known, at once: nodes are there for the blocks first. */
export const gatewayLookups = 16;
/** How many of these one place may have, so that there is always a turn for another. */
export const gatewayLookupsOfPlaceAtOnce = 8;
/** How many more of one place wait; a proxy in front of many tenants is one place too. */
export const gatewayLookupsOfPlace = 64;
/** Of all places: a kilobyte each. */
export const gatewayLookupsWaiting = 4_096;
/** A node answers in a tenth of this, and clients give up later. Who waits in line waits no longer either. */
export const gatewayLookupMs = 5 * second;
/** Every question keeps its turn at least so long: 40 in a second of one place, 80 of all. */
export const gatewayLookupTurnMs = 200;

export interface Lookups {
  /** `what` names the thing in words, for whoever is told that it could not be asked. Throws AKP_CHAIN_SILENT. */
  ask<T>(what: string, source: string, look: Look<T>): Promise<T>;
  readonly counts: LookupCounts;
}

export interface LookupCounts {
  /** Questions that were put to the chain. */
  readonly asked: number;
  /** People who were turned away: too many waited, or the chain did not answer in time. */
  readonly refused: number;
  readonly waiting: number;
}

type Look<T> = (signal: AbortSignal) => Promise<T>;

interface Question {
  readonly what: string;
  readonly look: Look<unknown>;
  readonly askers: Set<Asker>;
  /** In whose lines it stands. */
  readonly places: Set<Place>;
  isAsked: boolean;
}

interface Asker extends Pick<PromiseWithResolvers<unknown>, "resolve" | "reject"> {
  readonly timer: Timer;
}

interface Place {
  readonly name: string;
  readonly line: Set<Question>;
  taken: number;
}

export function createLookups(clock: Clock): Lookups {
  const questions = new Map<string, Question>();
  /** Whose turn it is longest first. */
  const places = new Map<string, Place>();
  let taken = 0;
  let asked = 0;
  let refused = 0;

  function standInLine(question: Question, name: string): void {
    const place = places.get(name) ?? { name, line: new Set(), taken: 0 };
    if (question.isAsked || question.places.has(place)) return;
    // Who has nobody in line may always join, or some places could take all there is; connections bound how many these are.
    const most = questions.size > gatewayLookupsWaiting ? 1 : gatewayLookupsOfPlace;
    const isFull = place.line.size >= most;
    if (isFull && question.places.size === 0) {
      questions.delete(question.what);
      throw silent(question.what, "too many others are asked for");
    }
    if (isFull) return;
    places.set(name, place);
    place.line.add(question);
    question.places.add(place);
  }

  function leaveLines(question: Question): void {
    for (const place of question.places) {
      place.line.delete(question);
      forgetIdle(place);
    }
    question.places.clear();
  }

  function forgetIdle(place: Place): void {
    if (place.line.size === 0 && place.taken === 0) places.delete(place.name);
  }

  function dealOut(): void {
    while (taken < gatewayLookups) {
      const place = nextPlace();
      if (!place) return;
      const [question] = place.line;
      if (question) void start(question, place);
    }
  }

  /** It goes to the end of the turns. */
  function nextPlace(): Place | undefined {
    for (const place of places.values()) {
      if (place.line.size === 0 || place.taken >= gatewayLookupsOfPlaceAtOnce) continue;
      places.delete(place.name);
      places.set(place.name, place);
      return place;
    }
    return undefined;
  }

  async function start(question: Question, place: Place): Promise<void> {
    taken += 1;
    place.taken += 1;
    asked += 1;
    question.isAsked = true;
    leaveLines(question);
    const held = sleep(clock, gatewayLookupTurnMs);
    const late = new AbortController();
    const timer = clock.timer(gatewayLookupMs, () => late.abort(new Error("it took too long")));
    try {
      const answer = await question.look(late.signal);
      for (const { resolve } of question.askers) resolve(answer);
    } catch (thrown) {
      const isSilence = isOfChain(thrown) || late.signal.aborted;
      const error = isSilence ? silent(question.what, "no node answers", thrown) : thrown;
      for (const { reject } of question.askers) reject(error);
    }
    timer.cancel();
    for (const asker of question.askers) asker.timer.cancel();
    questions.delete(question.what);
    await held;
    taken -= 1;
    place.taken -= 1;
    forgetIdle(place);
    dealOut();
  }

  function silent(what: string, reason: string, cause?: unknown): ProviderError {
    refused += 1;
    return new ProviderError("AKP_CHAIN_SILENT", { what, reason }, { cause });
  }

  return {
    async ask<T>(what: string, source: string, look: Look<T>): Promise<T> {
      const question = questions.get(what) ?? { what, look, askers: new Set(), places: new Set(), isAsked: false };
      questions.set(what, question);
      standInLine(question, source);
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const timer = clock.timer(gatewayLookupMs, () => {
        question.askers.delete(asker);
        reject(silent(what, question.isAsked ? "no node answers" : "too many others are asked for"));
        if (question.askers.size > 0 || question.isAsked) return;
        leaveLines(question);
        questions.delete(what);
      });
      const asker = { resolve, reject, timer };
      question.askers.add(asker);
      dealOut();
      return (await promise) as T;
    },
    get counts() {
      return { asked, refused, waiting: questions.size };
    },
  };
}
