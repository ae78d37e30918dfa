-- A hold may end before every server was read. Passes then only read such a server, until it is known whether it was rebuilt since.
ALTER TABLE "adopted_server" ADD COLUMN "unread_hold_id" UUID REFERENCES "installation_hold"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
