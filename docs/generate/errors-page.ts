/** `errors.md`: the catalogue of failures as a page, one section a code. */
import { endpointsByArea } from '../../src/api/endpoints.ts'
import { errorCatalog } from '../../src/errors.ts'
import type { Action, ErrorCode } from '../../src/errors.ts'

/** What a client does on each action. */
const actionAdvice: Readonly<Record<Action, string>> = {
  retry_later: 'Try again, after the seconds of `Retry-After` where the response has it.',
  switch_model: 'Request another model; `GET /v1/models` lists them.',
  sign_in: 'Sign in again, or send a valid key.',
  device_login: 'Start a device login again: `svc login`.',
  upgrade_plan: 'Take a plan with a larger quota.',
  use_boost: 'Take a boost; boosts are spent after the plan’s own credits.',
  shorten_prompt: 'Send a shorter prompt.',
  fix_request: 'Correct the request; `error.param` names the field where one is at fault.',
  contact_operator: 'Contact the operator, with the request id.',
}

/** Codes that are answered at a second stage too. */
const otherStages: Partial<Readonly<Record<ErrorCode, string>>> = {
  rate_limited: ', or `quota` where running turns hold the rest of a quota',
}

export function renderErrorsPage(): string {
  const codes = Object.keys(errorCatalog) as ErrorCode[]
  return `# Failures

Every failure is one JSON envelope: \`code\` (stable, for programs), \`stage\`, \`message\` and \`messageZh\`, \`actions\`, \`requestId\`, and OpenAI's \`error\` beside them.
\`POST /v1/mcp\` sends a JSON-RPC error instead: its message is the sentence with the reference, its \`data\` has \`code\`, \`stage\`, \`actions\` and \`requestId\`.
This page is generated from \`src/errors.ts\` and \`src/api/\` by \`npm run docs\`.
A message of a response may be more exact than the one here.

## Actions

| Action | What the client does |
|---|---|
${Object.entries(actionAdvice)
  .map(([action, text]) => `| \`${action}\` | ${text} |`)
  .join('\n')}

## Codes

Each section names the endpoints that answer the code by themselves.
Besides those, every endpoint that needs a session or a key answers \`sign_in_required\` or \`forbidden_origin\`, and every endpoint with a body answers \`invalid_request\`, \`payload_too_large\` or \`unsupported_media_type\`.
Every request may be answered \`rate_limited\`, \`not_found\`, \`method_not_allowed\` or \`internal_error\`.

${codes.map(renderCode).join('\n\n')}
`
}

function renderCode(code: ErrorCode): string {
  const { status, stage, type, en, actions } = errorCatalog[code]
  const endpoints = findEndpoints(code)
  return [
    `### ${code}`,
    '',
    `> ${en}`,
    '',
    `- Status: ${status}`,
    `- Stage: \`${stage}\`${otherStages[code] ?? ''}`,
    `- Type: \`${type}\``,
    `- Actions: ${actions.map((action) => `\`${action}\``).join(', ')}`,
    ...(endpoints.length === 0 ? [] : [`- Endpoints: ${endpoints.join(', ')}`]),
  ].join('\n')
}

function findEndpoints(code: ErrorCode): readonly string[] {
  return Object.values(endpointsByArea)
    .flat()
    .filter(({ endpoint }) => endpoint.errors.includes(code))
    .map(({ endpoint }) => `\`${endpoint.method.toUpperCase()} ${endpoint.path}\``)
    .toSorted()
}
