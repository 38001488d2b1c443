import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const tenantErrors = {
  AKP_SDL_REFUSED: {
    message: "{path} is not a deployment that can be posted:\n{list}",
    advice: "Correct it and give the command again.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_NO_OPEN_BID: {
    message: "no provider has an open bid on {order}",
    advice: "Wait for one (`akash-provider events` shows them), or name another order with --dseq, --gseq and --oseq.",
    ...statuses(404, "NOT_FOUND"),
  },
} as const satisfies Errors;
