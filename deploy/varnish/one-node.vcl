# Varnish before one gateway: /etc/varnish/default.vcl.
# Varnish has no TLS: a program that ends TLS stands before it, and sends it the client's address by the PROXY protocol (hitch, HAProxy):
# `varnishd -a 127.0.0.1:8443,PROXY -f /etc/varnish/default.vcl -p timeout_idle=65 -p backend_remote_error_holddown=0`.
# Replace 127.0.0.1:8787 where the gateway runs on another machine.
# The gateway needs SITE_URL=https://models.example.com and TRUSTED_PROXIES=127.0.0.1 (the address that Varnish connects from).
#
# timeout_idle: Varnish closes idle connections after 5 s, which is when Python's clients stop using them: some requests would be lost.
# backend_remote_error_holddown: after a refused connection Varnish tries none for 250 ms, also where the gateway is back.
#
# Varnish does not report a client that left: an answer that is not streamed is made to its end and charged in full.
vcl 4.1;

backend gateway {
  .host = "127.0.0.1";
  .port = "8787";
  .connect_timeout = 2s;
  # A turn takes up to 15 minutes (`timeouts.totalMs`), and an answer that is not streamed sends nothing before its end. The default is 60 s.
  .first_byte_timeout = 16m;
  .between_bytes_timeout = 16m;
}

sub vcl_recv {
  # Varnish adds the client's address to what the client wrote itself. The gateway shall see the former alone.
  set req.http.X-Forwarded-For = client.ip;
  # Where TLS ends before Varnish add: set req.http.X-Forwarded-Proto = "https";
  # Answers belong to one member: nothing is stored, and no request waits for another.
  return (pass);
}
