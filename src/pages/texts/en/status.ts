/** `/status`. */
export const status = {
  title: 'Status',
  lead: 'How the models answered, from the turns of members.',
  product: 'Model',
  lastDay: 'Last 24 hours',
  lastDays: 'Last {days} days',
  success: 'Answered',
  firstToken: 'First token',
  noProducts: 'No model is offered.',
  tooFew: 'too few turns',
  asOf: 'Counted up to {time}, and read once a minute.',
  beingMade: 'Older turns are still being counted; the figures are not complete yet.',
  counted:
    'Turns that failed because of the request itself or its limits, and those that the client stopped, do not count. Half of the answers began within the time of the first token.',
  rule: 'A figure is shown from {turns} turns and {accounts} accounts on, and it is rounded.',
}
