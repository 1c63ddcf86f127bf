/** The sentences of the landing page. */
export const home = {
  title: '{brand}: one key for every model you use',
  description:
    'A membership with a model API for the SDKs of OpenAI and Anthropic, web search for agents, images and chat. If a model fails, the message is free.',
  eyebrow: 'Membership and model API',
  headline: 'One key for every model you use.',
  lead: 'Chat here, or point your editor, agent or SDK at one address. One plan covers all of it, and a message that fails on our side is never counted.',
  start: 'Start for free',
  open: 'Open chat',
  readDocs: 'Read the docs',
  example: {
    label: 'An example of the chat',
    question: 'How do I undo my last commit but keep the changes?',
    answer: 'Move the branch back by one commit. Your changes stay staged:',
    after: 'Check with git status, then commit again.',
    foot: '412 tokens in, 96 out · {credits} credits',
    composer: 'Ask anything',
    usageLabel: 'An example of the usage page',
    usageTitle: 'You have used 61 % of today’s Premium messages.',
    resets: 'Resets in 7 hours',
    requestLabel: 'A request with curl, and its answer',
  },
  terminalAsk: 'Say hello in five words.',
  terminalAnswer: 'Hello there, nice meeting you.',
  terminalNote: 'The same address serves the OpenAI and Anthropic SDKs',
  points: [
    {
      title: 'A failed message is free',
      text: 'Credits are held before a message and settled after it. When a model fails, the hold goes back to you, and the error says so.',
    },
    {
      title: 'One address, your tools',
      text: 'Chat completions, responses, messages, images and an MCP search tool. Editors, agents and SDKs connect with a base URL and a key.',
    },
    {
      title: 'Nothing hidden',
      text: 'Every charge is on your account page, with the reference of each request, down to the last credit.',
    },
  ],
  worksTitle: 'Works with what you use',
  worksLead: 'Each of these has its page in the docs, with settings to paste.',
  insideTitle: 'You see what you use',
  insideText:
    'Your account shows what is left today, this week and this month, and each message with its tokens and credits. A warning comes before a limit does.',
  apiTitle: 'One request away',
  apiText: 'Change the base URL and the key, and your code keeps working. Streams, tools, images and JSON schemas pass through.',
  plan: 'Plan',
  comparePlans: 'Compare plans',
  plansCaption: 'Messages a day, about',
  plansLead: 'Each plan counts messages by day, week and month, for chat, apps, the command line and the API together.',
  modelsTitle: 'Models and prices',
  modelsLead: 'Plans are charged today’s price: the list price less the discount.',
  model: 'Model',
  tier: 'Tier',
  context: 'Context',
  input: 'Input',
  cachedInput: 'Cached input',
  output: 'Output',
  perMillion: 'US dollars for a million tokens; the price before the discount is struck out',
  light: 'Fast',
  flagship: 'Premium',
  discount: '{percent}% off',
  listPrice: 'list price',
  questionsTitle: 'Questions and answers',
  questions: [
    {
      question: 'What counts as a message?',
      answer:
        'One answer of a model, wherever you asked for it. Plans count credits, and a longer conversation costs more of them; the figures on the plans page are for messages of 3,000 tokens in and 1,000 out.',
    },
    {
      question: 'What happens when my plan is used up?',
      answer:
        'A refusal names the time of the reset, and nothing is charged beyond the plan. Models of the other tier keep working while theirs has room, and boost packs are spent after the plan.',
    },
    {
      question: 'Do I pay for a message that fails?',
      answer:
        'No. If the model or the service fails, the credits go back before you see the error. If you stop an answer, you pay for what was written until then.',
    },
    {
      question: 'Which programs can I use?',
      answer:
        'Any that speaks OpenAI’s chat completions or responses, or Anthropic’s messages, and lets you set the address. The docs have settings for those that we test.',
    },
    {
      question: 'Where are my conversations kept?',
      answer:
        'Those of the chat stay in your browser. The service keeps figures of each message, such as model, tokens and time, and neither your questions nor the answers.',
    },
    {
      question: 'Can I leave?',
      answer: 'At any time: delete the account on its page. Your address, sessions and keys are then removed at once.',
    },
  ],
  endTitle: 'Your first message is a minute away.',
  endText: 'An address and a six-digit code. No card.',
}
