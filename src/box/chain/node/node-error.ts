/** An error of the node itself, not of the application, with CometBFT's message. */
export class NodeError extends Error {
  override readonly name = "NodeError";
}
