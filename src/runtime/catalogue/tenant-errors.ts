import { type Errors, exitCodes } from "./entry.ts";

const { failure, settings } = exitCodes;

export const tenantErrors = {
  AKP_SDL_REFUSED: {
    message: "{path} is not a deployment that can be posted:\n{list}",
    advice: "Correct it and give the command again.",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },
  AKP_NO_OPEN_BID: {
    message: "no provider has an open bid on {order}",
    advice: "Wait for one (`akash-provider events` shows them), or name another order with --dseq, --gseq and --oseq.",
    http: 404,
    grpc: "NOT_FOUND",
    exit: failure,
  },
} as const satisfies Errors;
