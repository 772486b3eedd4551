-- Events of a run as a whole are few. They are found here, whatever number of events its tasks have.
CREATE INDEX events_of_no_task ON events (no) WHERE task IS NULL;
