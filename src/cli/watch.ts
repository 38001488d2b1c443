/** `akash-provider watch`: what is published on the bus, of the running provider or straight from Redis. */
import type { Command } from "commander";
import { openBus, type WatchedMessage, watchTopics } from "../bus/bus-service.ts";
import { topicNames, topicsMatching } from "../bus/topics.ts";
import { settingsCommand } from "../config/options.ts";
import { formatTime, realClock } from "../runtime/clock.ts";
import { streamControl } from "../runtime/control/control-client.ts";
import { createLog } from "../runtime/log.ts";
import { realRandom } from "../runtime/random.ts";
import { type OutputOptions, print, printError, printJson } from "./control.ts";
import { redisOf, type TakenSettings, takeSettings } from "./settings.ts";
import { abortOnSignals } from "./signals.ts";

export function watchCommand(): Command {
  const description = "follow the bus: retained values, then what is published, until you end it";
  const command = settingsCommand("watch", "watch", description)
    .argument("[topic...]", 'topics, or beginnings of topics followed by "*"; all where none is given')
    .option("--json", "print JSON, one value a line", false)
    .addHelpText("after", `\nTopics: ${topicNames.join(", ")}\nWith settings of Redis it needs no running provider.`);
  return command.action(async (given: string[], { json }: OutputOptions) => {
    const unknown = given.find((topic) => topicsMatching(topic).length === 0);
    if (unknown !== undefined) command.error(`error: no topic of the bus matches ${unknown}; see --help`);
    const settings = takeSettings(command, "watch");
    for (const warning of settings.warnings) printError(`warning: ${warning}`);
    const signal = abortOnSignals();
    const messages = follow(settings, given.length > 0 ? given : ["*"], signal);
    try {
      for await (const message of messages) {
        if (message.missed) printError(`${message.missed} messages are left out: they came too fast`);
        if (json) printJson(message);
        else print([lineOf(message)]);
      }
      if (!signal.aborted) printError("the provider has stopped");
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  });
}

async function* follow(
  { values, redactor }: TakenSettings,
  topics: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<WatchedMessage> {
  const redis = redisOf(values);
  if (!redis) {
    const request = { dataDir: values.dataDir, name: "watch", params: { topics }, clock: realClock, signal };
    return yield* streamControl(request) as AsyncGenerator<WatchedMessage>;
  }
  const log = createLog({ level: "error", redactor });
  const bus = await openBus(redis, { clock: realClock, random: realRandom, log });
  try {
    yield* watchTopics(bus, topics, signal);
  } finally {
    await bus.close();
  }
}

function lineOf({ topic, retained, publishedAtMs, data }: WatchedMessage): string {
  return `${formatTime(publishedAtMs)}  ${topic}${retained ? " (retained)" : ""}  ${JSON.stringify(data)}`;
}
