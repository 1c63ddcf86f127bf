/** Why there is nothing to measure, in a sentence for whoever asked. */
export class Refused extends Error {}

/** The machine has been busy for too long: what was seen of it. */
export class TooBusy extends Refused {}
