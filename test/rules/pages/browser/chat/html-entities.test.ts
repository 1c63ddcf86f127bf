import { decodeHTMLStrict as decodeAll } from 'entities'
import t from 'tap'
import { decodeHTMLStrict } from '../../../../../src/pages/browser/chat/html-entities.ts'

t.test('decodes named characters of HTML 4 and numbers as the whole table does', async (t) => {
  for (const text of [
    '&amp;',
    '&lt;',
    '&gt;',
    '&quot;',
    '&apos;',
    '&nbsp;',
    '&copy;',
    '&eacute;',
    '&Alpha;',
    '&hearts;',
    '&rarr;',
    '&sup2;',
  ])
    t.equal(decodeHTMLStrict(text), decodeAll(text), text)
  for (const text of ['&#65;', '&#x1F600;', '&#X41;', '&#0;', '&#x110000;', '&nothing;', '& amp;', '&amp', 'a &lt; b'])
    t.equal(decodeHTMLStrict(text), decodeAll(text), text)
})
