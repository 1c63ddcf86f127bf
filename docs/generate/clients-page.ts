/** `clients.md`: how a member sets up each program, one section a client. */
import { createClientSetups } from '../../src/setup/client-setups.ts'
import type { ClientSetup, SetupFacts } from '../../src/setup/client-setup.ts'

const facts: SetupFacts = {
  apiUrl: 'https://api.example.org',
  slug: 'svc',
  serviceName: 'Svc',
  key: 'svc_live_…',
  main: { id: 'svc-2.1', name: 'Svc 2.1', contextLength: 128_000, maxOutputTokens: 32_768, images: true },
  fast: { id: 'svc-2.1-fast', name: 'Svc 2.1 Fast', contextLength: 128_000, maxOutputTokens: 16_384, images: false },
  hasSearch: true,
}

export function renderClientsPage(): string {
  const setups = createClientSetups(facts)
  const withFiles = setups.filter(({ files }) => files.length > 0).map(({ id }) => `\`${id}\``)
  return `# Set up a program

For members: how programs and SDKs use the service.
This page is generated from \`src/setup/\` by \`npm run docs\`; the website and \`svc setup\` show the same with your address, your key and the products of your plan.

\`\`\`sh
svc setup codex            # shows the difference to your own file
svc setup codex --write    # writes it, and keeps a backup beside it
\`\`\`

\`svc setup --write\` writes the files of ${withFiles.join(', ')}, and for the others \`svc setup\` shows what to enter.
It changes only the settings on this page and keeps everything else in a file, comments included.
Keep the key in an environment variable: in the startup file of your shell, or in a secret store that fills the variable.

## Addresses

| API format | Address |
|---|---|
| Chat completions, Responses, embeddings | \`${facts.apiUrl}/v1\` |
| Messages | \`${facts.apiUrl}\`, because its clients add \`/v1\` themselves |

The key is sent as \`Authorization: Bearer\` or as \`x-api-key\`.

${setups.map(renderClient).join('\n\n')}
`
}

function renderClient({ id, name, api, files, dialog, fields, snippets, notes }: ClientSetup): string {
  const parts = [
    `## ${name}`,
    `\`svc setup ${id}\`; API format: ${api}.`,
    ...files.map(({ path, format, text }) => `\`${path}\`:\n\n${renderCode(format, text)}`),
    ...(fields.length === 0 ? [] : [renderFields(dialog?.en ?? 'Settings', fields)]),
    ...snippets.map(
      ({ title, language, text }) => `${toHeading(title)}:\n\n${renderCode(language === 'shell' ? 'sh' : language, text)}`,
    ),
    ...(notes.length === 0 ? [] : [notes.map(({ en }) => renderNote(en)).join('\n')]),
  ]
  return parts.join('\n\n')
}

function toHeading(title: string): string {
  if (title.startsWith('~')) return `\`${title}\``
  return title === 'shell' ? 'In the shell' : title
}

function renderFields(dialog: string, fields: ClientSetup['fields']): string {
  return [
    `${dialog}:`,
    '',
    '| Field | Value |',
    '|---|---|',
    ...fields.map(({ label, value }) => `| ${label} | \`${value}\` |`),
  ].join('\n')
}

/** One sentence a line. */
function renderNote(text: string): string {
  return `- ${text.replaceAll(/([.;:]) (?=[A-Z])/g, '$1\n  ')}`
}

function renderCode(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\`\`\``
}
