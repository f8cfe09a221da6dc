// A certified provider of OpenID Connect on loopback, for the tests of sign-in. Its own development forms sign in
// whoever is named, whatever the password. Port 0 takes a free one; the address is printed.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const modules = createRequire(`${process.env.OIDC_MODULES}/`);
const { default: Provider } = await import(pathToFileURL(modules.resolve("oidc-provider")).href);

const server = createServer();
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "tokometer",
        client_secret: "a-secret-of-tests",
        redirect_uris: ["http://127.0.0.1/sign-in/return"],
        post_logout_redirect_uris: ["http://127.0.0.1/"],
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    ],
    claims: { openid: ["sub"], profile: ["preferred_username"], email: ["email", "email_verified"] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, email: `${id}@mail.test`, email_verified: true }),
    }),
    pkce: { required: () => true },
    cookies: { keys: ["a key of tests"] },
    features: { devInteractions: { enabled: true } },
  });
  // The site's port is another one in each test.
  const { redirectUriAllowed } = provider.Client.prototype;
  provider.Client.prototype.redirectUriAllowed = function allowed(uri) {
    const url = new URL(uri);
    url.port = "";
    return redirectUriAllowed.call(this, url.href);
  };
  server.on("request", provider.callback());
  console.log(issuer);
});
