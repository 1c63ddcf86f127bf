/**
 * Recognises the passwords that attackers try first. Instead of a list of leaked passwords it matches how such passwords are made: a common
 * word, perhaps doubled or with look-alike letters, followed by a few digits or signs; a walk along the keyboard; a repeated group of
 * digits; a date of birth. That covers the heads of the published lists from eight characters on (shorter ones are refused anyway) and the
 * millions of variations that guessing programs generate.
 */

const words: ReadonlySet<string> = new Set(
  `
    password passwort passwd pass admin administrator root user guest login welcome letmein secret master super superman batman
    spiderman ironman hello helloworld hallo bonjour hola love iloveyou loveyou lovely lover baby angel princess prince queen king
    sunshine sunday monday friday summer winter spring autumn january february march april june july august september october
    november december dragon monkey tiger lion eagle horse shark panda kitty kitten puppy snoopy scooby pokemon pikachu mario zelda
    minecraft fortnite roblox football soccer baseball basketball hockey tennis golf rugby cricket chelsea arsenal liverpool
    barcelona madrid juventus ferrari porsche mercedes bmw toyota honda yamaha harley corvette mustang camaro jordan michael
    jennifer jessica ashley amanda nicole michelle melissa stephanie elizabeth charlie charlotte daniel david robert thomas
    william james john joseph matthew andrew anthony joshua george richard christopher alexander benjamin samuel jackson hunter
    jasmine hannah sophie olivia emma maria anna laura julia andrea carlos antonio francisco alejandro diego pablo mohamed ahmed
    ali fatima wang zhang chen liu yang woaini woaini1314 computer internet server network system windows linux ubuntu apple google
    facebook twitter instagram youtube amazon netflix samsung iphone android microsoft oracle cisco docker github gitlab qwerty
    azerty qwertz asdfgh zxcvbn qazwsx trustno starwars startrek matrix hogwarts potter gandalf phoenix shadow ghost ninja samurai
    killer hacker money dollar lucky lucky7 casino poker freedom liberty america canada london paris berlin moscow tokyo beijing
    shanghai australia germany france england ireland scotland mexico brazil texas california florida newyork chicago dallas boston
    chocolate cookie coffee pepper ginger banana orange cherry peach flower rose lily daisy butterfly rainbow diamond gold silver
    purple yellow green blue black white whatever nothing something anything test testing tester test123 demo example sample temp
    temporary default changeme change please access private public security secure mypassword newpassword oldpassword mypass
    company office manager service support contact student teacher school college university family mother father brother sister
    friend friends forever together heaven jesus christ blessed godisgood faith hope peace music guitar piano drummer metallica
    nirvana eminem beatles rockstar player gamer warrior soldier marine police doctor nurse lawyer engineer developer database
    backup mailbox email gmail hotmail yahoo chatgpt openai claude gemini llama bitcoin crypto ethereum blockchain wallet
  `
    .trim()
    .split(/\s+/),
)

/** Rows, columns and zigzags of keyboards, the alphabet and the digits in order; each also backwards. */
const walks: readonly string[] = [
  'qwertyuiop[]',
  'asdfghjkl;',
  'zxcvbnm,./',
  'qwertzuiop',
  'yxcvbnm',
  'azertyuiop',
  'qsdfghjklm',
  '01234567890',
  '!@#$%^&*()',
  'abcdefghijklmnopqrstuvwxyz',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm',
  'qazwsxedcrfvtgbyhnujm',
  '1q2w3e4r5t6y7u8i9o0p',
  'q1w2e3r4t5y6u7i8o9p0',
  'a1b2c3d4e5f6g7h8',
  '1a2b3c4d5e6f7g8h',
  'zaq12wsxcde34rfvbgt5',
  '147258369',
  '159357456852',
  'qweasdzxc',
  'asdqwezxc',
  '!qaz@wsx#edc$rfv',
].flatMap((path) => [path, [...path].toReversed().join('')])

/** Suffixes that people add to satisfy a rule: digits, a few signs, or both. */
const tail = /^(\d{0,6}|[!.@#$*_?-]{0,3}\d{0,4}|\d{0,4}[!.@#$*_?-]{0,3})$/
const repeatedDigits = /^(\d{1,4}?)\1+\d{0,3}$/
const yearFirst = /^(19[3-9]\d|20[0-4]\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/
const yearLast = /^(0[1-9]|[12]\d|3[01])(0[1-9]|[12]\d|3[01])(19[3-9]\d|20[0-4]\d)$/

export function isCommonPassword(password: string): boolean {
  const plain = password.toLowerCase()
  if (repeatedDigits.test(plain) || yearFirst.test(plain) || yearLast.test(plain)) return true
  for (let stemLength = plain.length; stemLength > 0; stemLength--) {
    if (!tail.test(plain.slice(stemLength))) continue
    const stem = plain.slice(0, stemLength)
    if (isWord(stem) || isWalk(stem)) return true
  }
  return false
}

function isWord(stem: string): boolean {
  const unmaskedStem = unmasked(stem)
  if (words.has(stem) || words.has(unmaskedStem)) return true
  const half = unmaskedStem.length / 2
  return unmaskedStem.slice(0, half) === unmaskedStem.slice(half) && words.has(unmaskedStem.slice(0, half))
}

/** At least three keys along one walk, once or twice. */
function isWalk(stem: string): boolean {
  if (stem.length < 3) return false
  const half = stem.length / 2
  const twice = stem.slice(0, half) === stem.slice(half) && half >= 3
  return walks.some((way) => way.includes(stem) || (twice && way.includes(stem.slice(0, half))))
}

/** Replaces look-alike characters by the letters they stand for. */
function unmasked(text: string): string {
  return text
    .replaceAll('@', 'a')
    .replaceAll('4', 'a')
    .replaceAll('0', 'o')
    .replaceAll('3', 'e')
    .replaceAll('1', 'i')
    .replaceAll('!', 'i')
    .replaceAll('$', 's')
    .replaceAll('5', 's')
    .replaceAll('7', 't')
}
