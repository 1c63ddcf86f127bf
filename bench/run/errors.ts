/** The reason why nothing can be measured, as a sentence for the user. */
export class BenchError extends Error {}

/** The machine has been busy for too long; contains what was observed. */
export class MachineBusyError extends BenchError {}
