// Package audiosearch finds sounds in a collection of videos: which segments of which
// videos sound most like a dog, a siren, a dial tone.
//
// Videos stand in datasets, with metadata. A [sound.Scorer] gives each segment of a
// video a score for each of the sound classes that its [sound.Model] predicts. That
// happens once for each file and model. A search then ranks the stored scores of one
// class over the videos whose metadata passes all filters.
//
// [New] makes a [Service] over a [Backend], with options that hold the scorers.
// [Service.Start] begins a search as a run, which a [Worker] carries out; it scores first
// what has no scores yet. [Service.Run] tells how far it is and [Service.Results] what it
// found. [Service.Search] does the same at once, in process.
//
// # What a host must run
//
// One [Worker] wherever runs are to be carried out. A worker also runs the [Sweeper],
// which queues again what the queue may have lost, forgets old runs, has the store tidy
// up, and has datasets scored by new models. A host that is pushed jobs ([Worker.Handle])
// runs a Sweeper of its own.
//
// # Models
//
// A service may have several scorers side by side. A class belongs to the first one
// that predicts it, and each has scores of its own. A model has a [sound.Model.Family],
// which stays when its weights change. A dataset has a current model for each family:
// searches read its scores. A new model, by another [sound.Model.ID], takes the place
// of the current one in one step, when it has scored every video that the current one
// has. Until then searches are answered from the scores of the old one; what it has not
// scored is left out, and the answer says how much. [Service.Ingest] scores by new
// models, and so does a Sweeper in the background once a search has found one.
// [Query.Model] asks for the scores by one model.
//
// A model that was replaced does not come back by itself. Nor does one take the place of
// the current one that the store knew before it. [Service.UseModel] brings either back.
// Until then nothing is scored by it, and searches that need it find what is stored.
//
// A scorer that is away does not stop searches over what is scored. [Service.Ping] asks
// the store, [Service.PingScorers] the scorers.
//
// # Deletion
//
// [Service.DeleteOrganization] deletes all that is kept of an organization, step by step.
// From its first call on the organization has nothing, on every server that shares the
// store, and its ID is not given again. What is left of the sound files is the host's to
// delete.
//
// # Long videos
//
// A video is scored in parts ([Options.Part]), which are kept until all of it is scored.
// If the process ends meanwhile, the next one decodes the sound from its start again, and
// scores what is missing. Nobody sees the parts before. A file is decoded while the sound
// before is scored or stored, ahead by the samples of a batch, and by 4 Mi samples (16
// MiB) at most.
//
// # Around it
//
// Package folder has the videos of a dataset in a folder. Package audioset names the
// classes of AudioSet. Package signal has a scorer that needs no model, package wav reads
// sound files in Go, and package ffmpeg everything else. Who writes one of their own reads
// package sound. Package ingest has videos scored in the background, and package excerpt
// makes what people see and hear of a result. Package synth makes sounds for tests.
//
// # For applications
//
// The service: [New], [Service], [Backend], [Options], [Limits]. Its options take scorers,
// media and files: see package sound, and package folder for videos in a folder.
//
// Package mortise has the names of all domains: Env, Actor, Observer, Observation, Kind,
// MaxPageSize, Page, Cursor, and the errors ErrNotFound, ErrExists, ErrDeleted,
// ErrUnavailable and ValidationError.
//
// Datasets: [Dataset], [Video]. The metadata of videos, in package
// metadata: [metadata.Map], which [metadata.Parse] reads, of at most
// [metadata.MaxKeys] and [metadata.MaxBytes]; [metadata.Scalar], by [metadata.String],
// [metadata.Int] or [metadata.Bool], of a [metadata.Kind].
//
// Scoring beforehand: [Ingested], [VideoProblem], [Scoring]. Which models a dataset is
// searched by: [DatasetModel].
//
// A search: [Query], with a [metadata.Filter] by a [metadata.Op], one of [metadata.Ops],
// of at most [metadata.MaxFilterBytes]. What it finds: [Found], [Result], [Keyframe]; what
// else is heard there: [TopClass].
//
// Searches in the background: [Run], its [State] and [Termination], and [SoundProgress];
// lists of them: [RunQuery].
//
// The work: [Worker], [NewWorker], [WorkerOptions], [ErrShutdown], [Sweeper],
// [NewSweeper], [SweeperOptions].
//
// Observations: [Detail]. How much there is: [Counts].
//
// Errors: of runs [ErrTooManyRuns], [ErrFinished]; of a video [ErrNotScored]; of an
// argument, by the Kind of a Problem, [ProblemUnsupportedClass], [ProblemUnknownKey],
// [ProblemTooLong], [ProblemNotANumber].
//
// # For backends
//
// A [Store] is made of [Datasets] and [Catalog]; of [ScoreStore], which keeps a Scoring of
// each video, answers a [ScoreQuery] with a [Hit] for each segment, and an [UnscoredQuery]
// with [Unscored]; of [PartStore], which keeps each [Part] until all is scored; of
// [ModelStore], with [ModelChange]; of [Runs] and [ResultStore]; of [Counter] and
// [Deletion]. It may be a [TxStore], and a [Pruner] with [CompactOptions].
//
// Its errors, which a service passes on: [ErrDatasetNotFound], [ErrVideoNotFound],
// [ErrRunNotFound], [ErrConflict], and those above.
//
// A [Queue] is one for all domains, mortise.Queue. Who pushes its jobs to Worker.Handle
// tells those of runs by [JobKind].
//
// Package audiosearchtest proves a store, and package storage/queuetest a queue. Package
// columnar has what stores are built on.
package audiosearch
