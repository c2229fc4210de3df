-- The newest term of the election that began an epoch. A manager that is alone has term 0.

ALTER TABLE leadership ADD COLUMN term INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER terms_never_go_back BEFORE UPDATE ON leadership WHEN NEW.term < OLD.term BEGIN
    SELECT RAISE(ABORT, 'terms never go back');
END;
