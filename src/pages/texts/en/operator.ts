/** `/operator`. */
import type { OperatorRole } from '../../../domain/identity/operators/operator-role.ts'

export const operator = {
  title: 'Console',
  signInFirst: 'Operators sign in here with their account, and then with a second factor.',
  signInAgain:
    'Setting up a second factor needs a sign-in of the last ten minutes. Sign out, sign in again, and come back to this page.',
  beginLead: 'Operators need a second factor: a code of six digits from an authenticator app on your phone.',
  setUp: 'Set up the second factor',
  setUpLead: 'Scan the picture with your authenticator app, or type the key into it. Then enter the code that it shows.',
  setUpKey: 'Key',
  picture: 'QR code with the key',
  code: 'Code',
  confirmHint: 'The six digits that the app shows now.',
  codeHint: 'Six digits from your authenticator app, or a recovery code.',
  verify: 'Continue',
  wrongCode: 'This code is wrong, or was used before. Wait for the next one and enter that.',
  recoveryTitle: 'Recovery codes',
  recoveryLead:
    'Each of these codes replaces your authenticator once. They are shown only now: store them where you find them without your phone.',
  recoverySaved: 'I have stored them',
  recoveryLeft: 'Recovery codes left',
  renewCodes: 'Make new recovery codes',
  consoleLead: 'You are signed in as an operator.',
  who: 'Signed in',
  shellUser: 'Shell of the system user {user}',
  role: 'Role',
  roles: { owner: 'Owner', operator: 'Operator', support: 'Support', finance: 'Finance', reader: 'Reader' } as Record<
    OperatorRole,
    string
  >,
  shellRole: 'Everything but making keys, for one hour',
  scopes: 'Allowed',
  stepUp: 'Fresh proof',
  stepUpUntil: 'Money, exports, roles and keys are open until',
  stepUpOver: 'Money, exports, roles and keys need another one',
  shellStepUp: 'For money, exports and roles open a new link: svc-gateway console',
  close: 'Leave the console',
  linkLead: 'This link was made in a shell of this machine by the system user {user}. It opens the console for one hour.',
  linkOpen: 'Open the console',
  linkUsed: 'This link has been used or has expired. Make a new one: svc-gateway console',
  linkUnsafe: 'The console opens over https or on this machine only.',
  notices: { verified: 'Your second factor was accepted.' },
}
