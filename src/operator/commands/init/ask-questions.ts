/** The dialogue of `svc-gateway init`: six questions, each with the present answer, which an empty line keeps and `-` removes. */
import { OperatorError } from '../../../system/operator-error.ts'
import { formatPlans, parsePlans } from './setup-answers.ts'
import type { SetupAnswers, SetupProvider } from './setup-answers.ts'

/** The operator at a terminal. */
export interface Dialogue {
  print(text: string): void
  /** Resolves with the line. A secret is not shown while it is typed. @throws OperatorError when the input has ended */
  ask(question: string, options?: { readonly isSecret?: boolean }): Promise<string>
}

interface QuestionHelpers {
  /** The models that the upstream lists, or the reason why they are not known. */
  readonly listModels: (answers: SetupAnswers) => Promise<readonly string[] | string>
}

const maxShownModels = 40

export async function askQuestions(
  earlier: SetupAnswers,
  { print, ask }: Dialogue,
  { listModels }: QuestionHelpers,
): Promise<SetupAnswers> {
  const keepOr = async (question: string, present: string | null): Promise<string | null> => {
    const line = (await ask(`${question}${present === null ? '' : ` [${present}]`}: `)).trim()
    return line === '' ? present : line === '-' ? null : line
  }
  const keepSecretOr = async (question: string, present: string | null): Promise<string | null> => {
    const line = (await ask(`${question}${present === null ? '' : ' [unchanged]'}: `, { isSecret: true })).trim()
    return line === '' ? present : line === '-' ? null : line
  }
  print('An empty line keeps what is in brackets, and - removes it.\n')

  print('\n1 of 6: the public address\n')
  const siteUrl = await keepOr(
    'Address of the website, such as https://ai.example.com; none for this machine only',
    earlier.siteUrl,
  )

  print('\n2 of 6: the upstream\n')
  let answers: SetupAnswers = { ...earlier, siteUrl }
  let models: readonly string[] = []
  for (;;) {
    const upstreamUrl = await keepOr(
      'Base URL of its API, such as https://api.example.com/v1; none for the demonstration',
      answers.upstreamUrl,
    )
    answers = {
      ...answers,
      upstreamUrl,
      upstreamKey: upstreamUrl === null ? null : await keepSecretOr('Its key', answers.upstreamKey),
    }
    if (upstreamUrl === null) break
    const listed = await listModels(answers)
    if (typeof listed !== 'string') {
      models = listed
      break
    }
    print(`${listed}\n`)
    if ((await ask('Keep it all the same? (y/N) ')).trim().toLowerCase().startsWith('y')) break
  }

  print('\n3 of 6: mail\n')
  const smtpUrl = await keepSecretOr('smtp://user:password@host:587 or smtps://…; none: emails become files', answers.smtpUrl)
  const mailFrom = smtpUrl === null ? null : await keepOr('Sender, such as Example <no-reply@example.com>', answers.mailFrom)

  print('\n4 of 6: the models of the tiers\n')
  if (models.length > 0)
    print(
      `${models
        .slice(0, maxShownModels)
        .map((model, i) => `  ${i + 1}  ${model}`)
        .join('\n')}\n`,
    )
  const choose = async (tier: string, present: string | null): Promise<string | null> => {
    const line = await keepOr(`Model of the tier ${tier}, by number or name`, present)
    return line !== null && /^\d{1,2}$/.test(line) ? (models[Number(line) - 1] ?? line) : line
  }
  const isDemo = answers.upstreamUrl === null
  const lightModel = isDemo ? null : await choose('light', answers.lightModel)
  const flagshipModel = isDemo ? null : await choose('flagship', answers.flagshipModel)

  print('\n5 of 6: currency and plans\n')
  const currency = ((await keepOr('Currency', answers.currency)) ?? answers.currency).toUpperCase()
  const plans = parsePlans((await keepOr('Plans with their price of a month', formatPlans(answers.plans))) ?? '')

  print('\n6 of 6: a sign-in provider\n')
  const issuer = await keepOr(
    'Issuer of an OpenID Connect provider, such as https://id.example.com; none: by email only',
    answers.provider?.issuer ?? null,
  )
  let provider: SetupProvider | null = null
  let clientSecret: string | null = null
  if (issuer !== null) {
    const name = await keepOr('Name on the button', answers.provider?.name ?? null)
    const clientId = await keepOr('Client id', answers.provider?.clientId ?? null)
    if (name === null || clientId === null) throw new OperatorError('A sign-in provider needs a name and a client id.')
    provider = { name, issuer, clientId }
    clientSecret = await keepSecretOr('Client secret', answers.clientSecret)
  }
  return { ...answers, smtpUrl, mailFrom, lightModel, flagshipModel, currency, plans, provider, clientSecret }
}
