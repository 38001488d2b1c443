/** Why a command was not started, as far as its tenant may know it. */
import { ProviderError } from "../../../runtime/errors.ts";

const words = [
  [/container not found|is not running|not created|is waiting to start/, "AKP_SHELL_NOT_RUNNING"],
  [/executable file not found|no such file or directory/, "AKP_SHELL_NO_SUCH_COMMAND"],
  [/unable to start container process|OCI runtime exec failed|failed to exec in container/, "AKP_SHELL_NOT_STARTED"],
] as const;

/** A node has no codes for it, only words. What is none of these comes back as it is. */
export function shellError(thrown: unknown): ProviderError {
  const error = ProviderError.from(thrown);
  if (error.code === "AKP_KUBE_NOT_FOUND") return new ProviderError("AKP_SHELL_NOT_RUNNING", {}, { cause: thrown });
  if (error.code !== "AKP_KUBE_FAILED") return error;
  const reason = String(error.details["reason"]);
  const code = words.find(([said]) => said.test(reason))?.[1];
  return code === undefined ? error : new ProviderError(code, {}, { cause: thrown });
}
