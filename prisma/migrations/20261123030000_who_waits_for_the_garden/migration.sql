-- Whether somebody waits for the garden is asked every other second.
CREATE INDEX "cluster_waiting" ON "cluster"(("waiting"->>'reason')) WHERE "waiting" IS NOT NULL;
