/** The words around the documentation, whose text is in `src/pages/docs/`. */
export const docs = {
  title: 'Docs',
  lead: 'One address and one key, for every tool.',
  linkTo: 'Link to “{heading}”',
  onThisPage: 'On this page',
  allPages: 'All pages',
  tools: 'Tools',
  search: 'Search the docs',
  matches: '{count} found for “{query}”.',
  noMatch: 'Nothing found for “{query}”.',
  asMarkdown: 'This page as Markdown',
  next: 'Next: {page}',
  yourKey: 'Your key',
  keyHint: 'Paste it to see it in the snippets. It stays in this tab and is not sent.',
  makeKey: 'Make a key',
}
